"""Where what is worked out of this host's binaries is kept between sessions."""

import contextlib
import os
from collections.abc import Iterator

from murmur.core.home import Home
from murmur.core.safefs import Root, open_root


@contextlib.contextmanager
def host_facts(home: Home, home_inside: bool, *, create: bool) -> Iterator[Root | None]:
    """The folder of facts; None where they cannot be kept. A launch that may yet be refused does
    not `create` it, changes no mode, and believes nothing in a folder that others could enter.

    None as well with a home in the work folder (`home_inside`): a command could write there what
    the next session grants.
    """
    if home_inside:
        yield None
        return
    with contextlib.ExitStack() as held:
        facts = None
        try:
            root = held.enter_context(open_root(home.root))
            facts = held.enter_context(root.sub("host_facts", create=create))
            if create:
                os.fchmod(facts.fileno(), 0o700)
            elif os.fstat(facts.fileno()).st_mode & 0o077:
                facts = None
        except OSError:
            facts = None
        yield facts
