"""Members that become arguments of git: each is refused where git could take it for an option, a
path outside the work folder, or an address that runs something.
"""

import re
from urllib.parse import urlsplit

from murmur_tooling.members import Members, ToolError, invalid

_PATHS = 1000
_BAD_IN_REVISION = re.compile(r"[\x00-\x20\x7f]")
_BAD_IN_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[./]|[./]$")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SCHEMES = ("http", "https", "ssh", "git")
_SCP_LIKE = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//)[^-].*")


def revision(given: Members, key: str, default: str | None = None) -> str:
    """A revision, or a range of them."""
    return _revision(key, given.text(key, default))


def optional_revision(given: Members, key: str) -> list[str]:
    """The same as arguments: none where it is not given."""
    return [revision(given, key)] if given.given(key) else []


def new_name(given: Members, key: str) -> str:
    """The name of a branch or tag."""
    value = given.text(key)
    if not value or value.startswith("-") or _BAD_IN_NAME.search(value) or value in ("@", "HEAD"):
        raise invalid(f"{key} is {value!r}; it must be a branch or tag name, as feature/login")
    return value


def remote_name(given: Members, default: str | None = None) -> str:
    """The name of a remote that the repository has or gets."""
    value = given.text("name", default)
    if not _REMOTE.fullmatch(value):
        raise invalid(f"name is {value!r}; it must be the name of a remote, as origin, no address")
    return value


def paths(given: Members) -> list[str]:
    """Paths relative to the repository, which come behind `--`."""
    return [_path("paths", each) for each in given.texts("paths", _PATHS)]


def optional_paths(given: Members) -> list[str]:
    """`--` and the paths; nothing where none are given."""
    return ["--", *paths(given)] if given.given("paths") else []


def path(given: Members, key: str) -> str:
    """One path relative to the repository, or to the work folder for `repo` and `dest`."""
    return _path(key, given.text(key))


def repository(given: Members) -> str:
    """The repository's folder, relative to the work folder."""
    return path(given, "repo") if given.given("repo") else "."


def address(given: Members) -> str:
    """Where a remote is: a URL, `user@host:path`, or a path inside the work folder."""
    url = given.text("url")
    if not url or url.startswith("-") or _BAD_IN_REVISION.search(url):
        raise invalid(f"url is {url!r}; it must be the address of a repository")
    # `ext::sh -c ...` and its like name a program that git runs.
    if "::" in url.partition("/")[0]:
        raise ToolError(
            "not_allowed", f"{url.partition('::')[0]}:: addresses run programs; use https or ssh"
        )
    scheme, separator, _ = url.partition("://")
    if not separator:
        return url if _SCP_LIKE.fullmatch(url) else _path("url", url)
    if scheme.lower() not in _SCHEMES:
        raise ToolError(
            "not_allowed",
            f"{scheme}:// is not allowed; use {', '.join(_SCHEMES)}, or a path in the work folder",
        )
    try:
        parts = urlsplit(url)
        host, secret = parts.hostname or "", parts.password
    except ValueError:
        host, secret = "", None
    if secret is not None:
        raise ToolError(
            "not_allowed", "the url holds a password, which would be written into files and logs"
        )
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        raise invalid("url has no host; it must be as https://host/path")
    return url


def _revision(key: str, value: str) -> str:
    if not value or value.startswith("-") or _BAD_IN_REVISION.search(value):
        raise invalid(f"{key} is {value!r}; it must be a revision, as main, v1.0 or HEAD~2")
    return value


def _path(key: str, value: str) -> str:
    if not value or "\0" in value:
        raise invalid(f"{key} is empty or holds a NUL")
    if value.startswith("/"):
        raise ToolError(
            "absolute_path", f"{key} {value} is absolute; name it relative to the folder"
        )
    kept: list[str] = []
    for part in value.split("/"):
        if part == "..":
            if not kept:
                raise ToolError("outside_workdir", f"{key} {value} leads out of the folder")
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return "/".join(kept) or "."
