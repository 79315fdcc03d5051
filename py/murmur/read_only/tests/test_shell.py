"""Writes of shell calls. seeds/manifest-schema.md, Read-only paths, the table's shell rows."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.read_only.check import Write, refusal_text, shell_write
from murmur.read_only.script import read_script
from murmur.read_only.subtrees import Subtrees

WORK = Subtrees("/nonexistent/work", ("tests", "bench/fixtures"))


def script(text: str, shell: str = "bash") -> Write | None:
    return shell_write(WORK, shell, (shell, "-c", text))


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("echo x > tests/a", "redirection >"),
        ("echo x >tests/a", "redirection >"),
        ("echo x>tests/a", "redirection >"),
        ("echo x >> tests/a", "redirection >>"),
        ("echo x >| tests/a", "redirection >|"),
        ("make &> tests/log", "redirection &>"),
        ("make &>> tests/log", "redirection &>>"),
        ("make 2> tests/log", "redirection >"),
        ("make 2>>tests/log", "redirection >>"),
        ("make >& tests/log", "redirection >&"),
        ("> tests/a", "redirection >"),
        ("cat <<X > tests/a\nrm other\nX\n", "redirection >"),
        ("cat < in.txt > 'tests/a b'", "redirection >"),
        ('echo x > "/nonexistent/work/tests/a"', "redirection >"),
        ("for i in a b; do echo $i; done > tests/a", "redirection >"),
        ("{ echo a; } > tests/a", "redirection >"),
        ("f() { echo a > tests/a; }", "redirection >"),
        ("true && (echo a | tee tests/a)", "target of tee"),
        ("a=1 b='x y' rm tests/a", "target of rm"),
        ("if true; then rm -rf -- tests; fi", "target of rm"),
        ("/bin/rm tests/a", "target of rm"),
        ("\\rm tests/a", "target of rm"),
        ("command rm tests/a", "target of rm"),
        ("env -i A=b rm tests/a", "target of rm"),
        ("echo hi # it's\nrm tests/a", "target of rm"),
        ("echo $(date) `date` ${x:-)} && rm tests/a", "target of rm"),
        ("rm tests/$name", "target of rm"),
        ('rm "tests/$(date)"', "target of rm"),
        ("rm tests/*.txt", "target of rm"),
        ("cd bench && rm fixtures/a", "target of rm"),
        ("cd nowhere; rm tests/a", "target of rm"),
        ("cd $x || true; rm tests/a", "target of rm"),
        ("(cd src && make); rm tests/a", "target of rm"),
        ("bash -c 'rm tests/a'", "target of rm"),
        ('sh -ec "echo x > tests/a"', "redirection >"),
        ("case $x in a) rm tests/a;; esac", "target of rm"),
        ("[[ a > b ]] && rm tests/a", "target of rm"),
        ("x=$((1 > 2)); rm tests/a", "target of rm"),
        ("diff <(sort a) <(sort b) > tests/out", "redirection >"),
        ("echo a \\\n > tests/a", "redirection >"),
        ("echo $'a\\n' > tests/a", "redirection >"),
        ("rm -rf \\\n  tests/a", "target of rm"),
    ],
)
def test_a_script_that_writes_below_a_read_only_path_is_identified(text: str, signal: str) -> None:
    found = script(text)
    assert found is not None and found.signal == signal
    assert found.rule in WORK.rules and found.path.startswith(found.rule)


@pytest.mark.parametrize(
    "text",
    [
        "cat tests/a",
        "cat < tests/a",
        "grep -r x tests > out",
        "echo '> tests/a'",
        'echo "rm tests/a"',
        "echo rm tests/a",
        "# rm tests/a",
        "cat <<X\nrm tests/a\n> tests/b\nX\n",
        "cat <<-'X'\n\trm tests/a\n\tX\n",
        "cat <<< 'rm tests/a'",
        "echo 2>&1 >&2",
        "exec 3>&-",
        "[[ a > tests/a ]]",
        "(( a > tests ))",
        "rm $x/tests",
        "rm ~/tests/a",
        "rm $(echo tests/a)",
        "eval 'rm tests/a'",
        "cd a\0b && rm tests/a",
        "python3 -c \"open('tests/a', 'w')\"",
        "cd out && rm tests/a",
        "cd .. && rm tests/a",
        "cp tests/a out/b",
        "ln -s tests/a",
        "mv a.txt b.txt",
        "rm tests2 testsuite/a atests build/tests",
        "find tests -name x -delete",
        "pushd src && rm tests/a",
        "arr=(a > tests/a)",
        "echo a 2> /dev/null",
        "cat <> tests/a",
        "",
        "'",
        "$(",
        ">",
    ],
)
def test_what_cannot_be_told_for_certain_is_let_through(text: str) -> None:
    assert script(text) is None


@pytest.mark.parametrize(
    "argv",
    [
        "tee -a tests/a",
        "tee out tests/a",
        "rm -rf tests",
        "rmdir tests/d",
        "unlink tests/a",
        "shred -u tests/a",
        "shred -n 3 tests/a",
        "truncate -s 0 tests/a",
        "truncate --size 0 tests/a",
        "mkdir -p tests/new",
        "mkdir -m 755 tests/new",
        "touch tests/a",
        "touch -d yesterday tests/a",
        "chmod 600 tests/a",
        "chmod -R u+w tests",
        "chown me:me tests/a",
        "patch tests/a fix.diff",
        "mv a tests/a",
        "cp a b tests",
        "cp -t tests a b",
        "cp --target-directory=tests a",
        "cp -r --target-directory tests a",
        "install -m 755 a tests/a",
        "install -d out tests/d",
        "ln -s ../src tests/link",
        "sed -i s/a/b/ tests/a",
        "sed -i.bak -e s/a/b/ tests/a",
        "sed -ni p tests/a",
        "sed --in-place=.orig s/a/b/ tests/a",
        "sed s/a/b/ tests/a -i",
        "dd if=/dev/zero of=tests/a",
    ],
)
def test_a_write_target_position_is_identified(argv: str) -> None:
    words = argv.split()
    found = shell_write(WORK, words[0], words)
    assert found is not None and found.signal == f"target of {words[0]}"
    assert script(argv) is not None


@pytest.mark.parametrize(
    "argv",
    [
        "cat tests/a",
        "cp tests/a out",
        "cp -t out tests/a tests/b",
        "mv -S tests/x a b",
        "sed s/a/b/ tests/a",
        "sed -n p tests/a",
        "sed -i tests/p out",
        "sed -i.tests/a p out",
        "dd if=tests/a of=out",
        "touch -r tests/a out",
        "truncate -r tests/a out",
        "install -m 755 tests/a out",
        "install -gdaemon tests/a out",
        "patch -i tests/fix.diff src/a",
        "ls > tests/a",
        "rm -- --tests",
        "rm",
        "mv tests/a",
    ],
)
def test_any_other_position_is_not(argv: str) -> None:
    words = argv.split()
    assert shell_write(WORK, words[0], words) is None


def test_a_program_that_is_no_shell_gets_its_words_as_they_are() -> None:
    assert shell_write(WORK, "rm", ("rm", "~/tests", "$tests")) is None
    found = shell_write(Subtrees("/nonexistent/work", ("$x",)), "rm", ("rm", "$x/a"))
    assert found is not None and found.path == "$x/a"


def test_a_link_is_followed_and_its_own_place_counts_when_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "way").symlink_to("tests")
    (tmp_path / "tests" / "out").symlink_to("../free")
    work = Subtrees(str(tmp_path), ("tests",))
    assert shell_write(work, "bash", ("bash", "-c", "echo x > way/a")) == Write(
        "tests/a", "tests", "redirection >"
    )
    assert shell_write(work, "bash", ("bash", "-c", "echo x > tests/out")) is None
    assert shell_write(work, "rm", ("rm", "tests/out")) is not None


def test_without_read_only_paths_nothing_is_refused() -> None:
    assert shell_write(Subtrees("/w", ()), "rm", ("rm", "-rf", "/w")) is None


def test_the_refusal_names_path_and_rule_and_that_nothing_ran() -> None:
    text = refusal_text("bash", Write("tests/a", "tests", "redirection >"))
    for fact in ("bash", "tests/a", "protects tests", "Nothing was run", "read"):
        assert fact in text


_PIECES = "' \" \\ $ $( ) ( (( ` <<X <<- ; & | > >> 2> >& &> < { } # ~ a tests/a rm X [[ ]] ="
_FRAGMENTS = st.sampled_from([*_PIECES.split(), "\n", " ", "rm ", "cd "])


@given(st.lists(_FRAGMENTS, max_size=40).map("".join) | st.text(max_size=60))
def test_any_script_is_read(text: str) -> None:
    read_script(text)
    found = script(text)
    assert found is None or found.rule in WORK.rules


_SAFE = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)


@given(_SAFE, st.sampled_from(["'{}'", '"{}"', "{}", "\\{}"]), st.sampled_from([">", ">>", "2>"]))
def test_quoting_does_not_hide_a_target(name: str, quoting: str, operator: str) -> None:
    found = script(f"echo x {operator} {quoting.format('tests/' + name)}")
    assert found is not None and found.path == f"tests/{name}"


@given(st.text(st.characters(exclude_characters="'\0"), max_size=40))
def test_what_stands_in_single_quotes_is_no_command(text: str) -> None:
    assert script(f"echo '{text}'") is None


@pytest.mark.parametrize(
    "text", ["'" * 200_001, "$(" * 100_000, "<<X\n" * 50_000, "a" * 400_000, "((" * 100_000]
)
def test_a_long_script_is_read_in_linear_time(text: str) -> None:
    began = time.monotonic()
    script(text)
    assert time.monotonic() - began < 5


def test_an_ordinary_command_is_judged_well_below_a_millisecond() -> None:
    text = "cd src && make -j4 2>&1 | tee build.log && cp a b && grep -r x . > out.txt"
    rounds = 200
    began = time.monotonic()
    for _ in range(rounds):
        script(text)
    assert (time.monotonic() - began) / rounds < 0.005
