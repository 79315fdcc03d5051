"""A harness's executable: a program, or a script with an interpreter and parts beside it."""

import os

from murmur.sandbox.binaries import inside, script_interpreter, shebang
from murmur.sandbox.native_code import loads_native_code


def programs(binary: str) -> tuple[str, ...]:
    """The canonical paths that may be executed by their own: the harness, its interpreter."""
    return (binary, *(os.path.realpath(word) for word in shebang(binary)[:1]))


def interpreter_names(binary: str) -> tuple[str, ...]:
    """The programs that PATH is searched for to run a script: what `env` is asked for."""
    name = script_interpreter(binary)
    return (name,) if name is not None and os.path.basename(shebang(binary)[0]) == "env" else ()


def program_folder(binary: str, own: tuple[str, ...]) -> tuple[str, ...]:
    """The folder of a script, whose other parts lie beside it; none where that holds `own`."""
    if script_interpreter(binary) is None:
        return ()
    folder = os.path.dirname(binary)
    return () if any(inside(os.path.realpath(each), (folder,)) for each in own) else (folder,)


def native_loaders(binary: str) -> tuple[str, ...]:
    """The language runtimes that run it and load native code from where modules lie (W-SEC-036)."""
    named = (*programs(binary), *interpreter_names(binary))
    names = (os.path.basename(each) for each in named)
    return tuple(dict.fromkeys(name for name in names if loads_native_code(name, name)))
