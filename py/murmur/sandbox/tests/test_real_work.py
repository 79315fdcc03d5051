"""Work that people do on one machine: the same result in each class as outside."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from murmur.manifest.grants import InterpreterDirectory, InterpreterRuntime
from murmur.sandbox.probe import HostReading
from murmur.sandbox.resources import Resources

from .conftest import Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

SEARCH = "/usr/local/bin:/usr/bin:/bin"
FILES = 10_000

Work = Callable[[Callable[..., str], Path], object]
Compare = Callable[..., None]


@pytest.fixture
def same(contain: Opener, reading: HostReading, tmp_path: Path) -> Iterator[Compare]:
    """Does a piece of work outside, then contained in each class, and compares what comes of it."""

    def compare(
        work: Work, *tools: str, executable: Sequence[str] = (), path: str = SEARCH
    ) -> None:
        for tool in tools:
            if shutil.which(tool, path=path) is None:
                pytest.skip(f"INCONCLUSIVE: {tool} is not installed")
        (tmp_path / "plain").mkdir()
        expected = work(_outside(tmp_path / "plain"), tmp_path / "plain")
        directories = tuple(InterpreterDirectory(each, True) for each in executable)
        runtime = (InterpreterRuntime(tools[0], directories),) if directories else ()
        for sealed in (False, True) if reading.tier == "Sealed" else (False,):
            session = contain(
                *tools,
                path=path,
                sealed=sealed,
                interpreter_runtime=runtime,
                # Runtimes that reserve far more than they use: node, java.
                resources=Resources(memory_bytes=64 << 30),
            )
            assert work(_inside(session), session.work) == expected, f"sealed: {sealed}"
            session.close()

    yield compare


def _inside(session: Contained) -> Callable[..., str]:
    def run(*argv: str) -> str:
        done = session.run(*argv, timeout=120)
        assert done.set_up_failure is None, done
        assert done.exit_code == 0, (argv, done.stdout[-2000:], done.stderr[-4000:])
        return done.stdout.decode()

    return run


def _outside(folder: Path) -> Callable[..., str]:
    def run(*argv: str) -> str:
        done = subprocess.run(
            argv,
            cwd=folder,
            env={"PATH": SEARCH, "HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (argv, done.stderr)
        return done.stdout

    return run


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_program_in_c_compiles_to_the_same_bytes(same: Compare) -> None:
    if shutil.which("gcc", path=SEARCH) is None:
        pytest.skip("INCONCLUSIVE: no gcc here")

    def ask(what: str) -> str:
        done = subprocess.run(["gcc", what], capture_output=True, text=True, check=True)
        return os.path.realpath(done.stdout.strip())

    def work(run: Callable[..., str], folder: Path) -> object:
        (folder / "part.h").write_text('#define TEXT "hello"\nint part(int);\n')
        (folder / "part.c").write_text('#include "part.h"\nint part(int a) { return a * 2; }\n')
        (folder / "main.c").write_text(
            '#include <stdio.h>\n#include "part.h"\n'
            'int main(void) { printf("%s %d\\n", TEXT, part(21)); return 0; }\n'
        )
        run("gcc", "-O2", "-c", "part.c")
        run("gcc", "-O2", "-Wall", "-o", "main", "main.c", "part.o", "-lm")
        return _digest(folder / "part.o"), _digest(folder / "main")

    helpers = os.path.dirname(ask("-print-prog-name=cc1"))
    libraries = os.path.dirname(ask("-print-file-name=crt1.o"))
    executable = (
        helpers,
        libraries,
        "/usr/include",
        os.path.dirname(ask("-print-libgcc-file-name")),
    )
    same(work, "gcc", "as", "ld", executable=executable)


def test_a_python_environment_is_made_and_used(same: Compare) -> None:
    look = "import json, os, sys, sysconfig; print(sys.prefix != sys.base_prefix, json.dumps([1]))"

    def work(run: Callable[..., str], folder: Path) -> object:
        run("python3", "-m", "venv", "--without-pip", "env")
        (folder / "use.py").write_text(
            "import subprocess, sys\nsys.exit(subprocess.call(['env/bin/python', *sys.argv[1:]]))\n"
        )
        made = sorted(str(each.relative_to(folder)) for each in (folder / "env").rglob("*"))
        return run("python3", "use.py", "-c", look), made

    same(work, "python3")


def test_an_environment_on_the_operators_path_is_the_one_that_commands_get(
    contain: Opener, reading: HostReading, tmp_path: Path
) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("INCONCLUSIVE: no python3 of the system's")
    place = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(place)], check=True)
    packages = next((place / "lib").glob("python3*/site-packages"))
    (packages / "mine.py").write_text("ANSWER = 42\n")
    look = "import mine, sys; print(sys.prefix, mine.ANSWER)"
    for sealed in (False, True) if reading.tier == "Sealed" else (False,):
        session = contain("python", "sh", path=f"{place}/bin:{SEARCH}", sealed=sealed)
        assert _inside(session)("python", "-c", look) == f"{place} 42\n"
        assert _inside(session)("sh", "-c", f'python -c "{look}"') == f"{place} 42\n"
        session.close()


def test_node_reads_writes_and_starts_another(same: Compare) -> None:
    def work(run: Callable[..., str], folder: Path) -> object:
        (folder / "data.json").write_text('{"a": [1, 2, 3]}')
        (folder / "main.js").write_text(
            "const fs = require('fs'), crypto = require('crypto');\n"
            "const data = JSON.parse(fs.readFileSync('data.json', 'utf8'));\n"
            "const sum = data.a.reduce((x, y) => x + y);\n"
            "const digest = crypto.createHash('sha256').update(`${sum}`).digest('hex');\n"
            "fs.writeFileSync('out.txt', digest);\n"
            "const {execFileSync} = require('child_process');\n"
            "console.log(execFileSync(process.execPath, ['-p', '6 * 7']).toString().trim());\n"
        )
        return run("node", "main.js"), (folder / "out.txt").read_text()

    same(work, "node", executable=("/etc/ssl",))  # without it node stops at openssl.cnf


def test_a_local_repository_is_cloned_and_committed_to(same: Compare) -> None:
    if shutil.which("git", path=SEARCH) is None:
        pytest.skip("INCONCLUSIVE: no git here")
    asked = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
    core = asked.stdout.strip()
    who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    when = {"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}
    script = "".join(f"export {name}='{value}'\n" for name, value in when.items())

    def work(run: Callable[..., str], folder: Path) -> object:
        (folder / "go.sh").write_text(
            "set -e\nexport GIT_CONFIG_NOSYSTEM=1\n" + script + "git init --quiet -b main repo\n"
            "echo one > repo/file\ngit -C repo add file\n"
            f"git -C repo {' '.join(who)} commit --quiet -m one\n"
            "git clone --quiet repo copy\ngit clone --quiet --no-local repo packed\n"
            "echo two >> packed/file\n"
            f"git -C packed {' '.join(who)} commit --quiet -a -m two\n"
            "git -C packed push --quiet origin HEAD:other\n"
            "git -C repo rev-parse other\ngit -C copy log --format=%H%s\ngit -C repo fsck\n"
        )
        return run("sh", "go.sh")

    same(work, "git", "sh", executable=(core, "/usr/share/git-core"))


def test_ten_thousand_files_are_walked(same: Compare) -> None:
    def work(run: Callable[..., str], folder: Path) -> object:
        for index in range(FILES):
            if index % 100 == 0:
                (folder / f"d{index // 100}").mkdir()
            (folder / f"d{index // 100}" / f"f{index}").write_text(str(index))
        (folder / "walk.sh").write_text(
            "find d* -type f | sort | xargs cat | sha256sum; find d* | wc -l\n"
        )
        return run("sh", "walk.sh")

    same(work, "sh", "find", "sort", "xargs", "cat", "sha256sum", "wc")
