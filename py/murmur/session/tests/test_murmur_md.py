"""MURMUR.md. spec/sessions.md 7."""

import dataclasses

import pytest

from murmur.session.inventory import Tool, ToolKind, shell_tool
from murmur.session.murmur_md import PageFacts, plain, render_page

FACTS = PageFacts(
    product_version="0.1.0",
    written_at="2026-01-01T00:00:00Z",
    capsule_name="demo",
    capsule_version="0.2.0",
    session_id="ses_1",
    url="localhost:1",
    model="m",
    workdir="/w",
    runtime_directory="/run",
    records_directory="/rec",
    temporary_directory="/rec/tmp",
    context_budget=None,
    compaction_configured=False,
    tools=(),
    shell=(),
)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb\tc\rd", "a b c d"),
        ("`rm`  -rf\x1b[31m \x00x", "rm -rf[31m x"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("\u202eevil", "evil"),
        ("", ""),
    ],
)
def test_a_description_is_one_harmless_line(given: str, shown: str) -> None:
    assert plain(given) == shown


def test_the_page_says_who_and_where_it_is() -> None:
    page = render_page(FACTS)
    for fact in ("demo 0.2.0", "ses_1", "localhost:1", "/w", "0.1.0", "2026-01-01T00:00:00Z"):
        assert fact in page
    assert "No tool is installed." in page
    assert "## Installed Skills" not in page
    assert "Context budget" not in page
    assert "not enabled" in page


@pytest.mark.parametrize(("configured", "word"), [(True, "configured"), (False, "not configured")])
def test_a_known_window_gives_the_budget_line(configured: bool, word: str) -> None:
    page = render_page(
        dataclasses.replace(FACTS, context_budget=1000, compaction_configured=configured)
    )
    assert f"Context budget: 1000 tokens (compaction {word})" in page


def test_tools_and_skills_are_listed_by_name_each_in_its_own_list() -> None:
    skill = Tool("manners", ToolKind.SKILL, "1.0.0", "Be kind.", {}, "local/manners")
    tool = Tool("editor", ToolKind.WASM, "0.1.0", "Edits\nfiles", {}, "local/editor")
    page = render_page(
        dataclasses.replace(FACTS, tools=(shell_tool("sh"), skill, tool), shell=("sh", "git"))
    )
    tools = page.partition("## Installed tools")[2].partition("## Installed Skills")[0]
    assert tools.index("`editor` 0.1.0 (tool): Edits files") < tools.index("`sh` 0.0.0 (tool)")
    assert "manners" not in tools
    assert "`manners` 1.0.0: Be kind. (callable by name)" in page
    assert "sh: `command` is a whole command line" in page
    assert "git: `command` holds the arguments only" in page


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ((), "They reach no host but their own loopback."),
        (
            ("https://api.example.com", "b.example.com:8443"),
            "Of the network they reach only: `https://api.example.com`, `b.example.com:8443`. "
            "Every other name is refused.",
        ),
    ],
)
def test_the_hosts_of_commands_are_named(hosts: tuple[str, ...], said: str) -> None:
    page = render_page(dataclasses.replace(FACTS, shell=("bash",), hosts=hosts))
    assert f"`command` is a whole command line\n\n{said}\n" in page


def test_no_hosts_are_named_where_nothing_binds_commands_to_them() -> None:
    page = render_page(dataclasses.replace(FACTS, shell=("bash",), hosts=None))
    assert page.endswith("`command` is a whole command line\n")
    assert "reach" not in render_page(FACTS), "a capsule without commands"


def test_the_skill_that_is_the_system_prompt_is_marked_and_not_callable() -> None:
    skill = Tool("manners", ToolKind.SKILL, "local", "Be kind.", {}, "local/manners")
    page = render_page(dataclasses.replace(FACTS, bound_skill=skill))
    assert "- `manners` local: Be kind. (bound as the system prompt, not callable)" in page
    assert "No tool is installed." in page
