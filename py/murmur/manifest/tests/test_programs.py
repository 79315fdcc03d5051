"""A tool's `programs:` block. spec/formations-and-newer-manifest.md A15."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.programs import BadPrograms, Download, Need, Program, parse_programs

SHA = "0123456789abcdef" * 4
PINNED = {"platform": "linux-x86_64", "url": "https://a.example/x.zip", "sha256": SHA}


def test_a_block_is_taken_over_in_its_order() -> None:
    block = {
        "chrome": {
            "needs": [
                {"library": "libnss3.so", "packages": {"debian": "libnss3"}},
                {"file": "libsoftokn3.so", "beside": "libnss3.so"},
                {"program_folder": "resources"},
                {"etc": "fonts"},
                {"system": "ca_bundle"},
            ],
            "download": [
                PINNED | {"run": "chrome/chrome"},
                PINNED | {"platform": "darwin-aarch64"},
            ],
        },
        "jq": {"needs": [{"system": "fonts"}]},
    }
    chrome, jq = parse_programs(block)
    assert chrome == Program(
        "chrome",
        (
            Need("library", "libnss3.so", packages={"debian": "libnss3"}),
            Need("file", "libsoftokn3.so", "libnss3.so"),
            Need("program_folder", "resources"),
            Need("etc", "fonts"),
            Need("system", "ca_bundle"),
        ),
        (
            Download("linux-x86_64", "https://a.example/x.zip", SHA, "chrome/chrome"),
            Download("darwin-aarch64", "https://a.example/x.zip", SHA),
        ),
    )
    assert chrome.download_for("linux-x86_64") is chrome.downloads[0]
    assert chrome.download_for("linux-aarch64") is None
    assert jq.needs == (Need("system", "fonts"),) and jq.downloads == ()


def test_without_a_block_there_is_nothing() -> None:
    assert parse_programs(None, "driver") == ()
    assert parse_programs({}) == ()


def _needs(*entries: object) -> dict[str, Any]:
    return {"p": {"needs": list(entries)}}


def _download(**changes: object) -> dict[str, Any]:
    return {"p": {"download": [{**PINNED, **changes}]}}


@pytest.mark.parametrize(
    ("block", "program", "reason"),
    [
        ([], "*", "a list, not a mapping"),
        ({"a/b": {"needs": []}}, "a/b", "no bare program name"),
        ({"..": {}}, "..", "no bare program name"),
        ({7: {}}, "7", "no bare program name"),
        ({"p": None}, "p", "no value, not a mapping"),
        ({"p": {}}, "p", "neither needs nor download"),
        ({"p": {"needs": None}}, "p", "neither needs nor download"),
        ({"p": {"need": []}}, "p", "need: it is none of needs, download"),
        ({"p": {"needs": []}}, "p", "needs: it is empty"),
        ({"p": {"needs": {}}}, "p", "needs: it is a mapping"),
        (_needs("x"), "p", "needs[0]: it is a string"),
        (_needs({}), "p", "needs[0]: it holds none of"),
        (_needs({"library": "a.so", "file": "b"}), "p", "holds library and file of"),
        (_needs({"libary": "a.so"}), "p", "needs[0].libary: it is none of"),
        (_needs({"library": ""}), "p", "needs[0].library: it is blank"),
        (_needs({"library": 7}), "p", "needs[0].library: it is a number"),
        (_needs({"library": "/lib/a.so"}), "p", "'/lib/a.so' is no bare file name"),
        (_needs({"file": "a/b"}), "p", "'a/b' is no bare file name"),
        (_needs({"file": "a", "beside": "b.so"}), "p", "needs[0].beside: 'b.so' is no library"),
        (_needs({"library": "a.so", "beside": "a.so"}), "p", "'a.so' stands beside no file"),
        (_needs({"program_folder": "/opt"}), "p", "absolute"),
        (_needs({"program_folder": "../x"}), "p", "'..'"),
        (_needs({"program_folder": "~/x"}), "p", "shell expands"),
        (_needs({"program_folder": "$HOME/x"}), "p", "shell expands"),
        (_needs({"etc": "/etc/fonts"}), "p", "absolute"),
        (_needs({"etc": "a/../../x"}), "p", "'..'"),
        (_needs({"etc": "shadow"}), "p", "credentials"),
        (_needs({"etc": "./x/../ssh/ssh_host_key"}), "p", "credentials"),
        (_needs({"etc": "ssl"}), "p", "credentials (/etc/ssl/private)"),
        (_needs({"etc": "."}), "p", "credentials"),
        (_needs({"system": "sounds"}), "p", "none of fonts, ca_bundle"),
        (_needs({"system": "fonts", "packages": []}), "p", "needs[0].packages: it is a list"),
        (_needs({"system": "fonts", "packages": {"Debian": "x"}}), "p", "packages.Debian"),
        (_needs({"system": "fonts", "packages": {"debian": 1}}), "p", "packages.debian"),
        (_needs({"system": "fonts"}, {"system": "x"}), "p", "needs[1].system"),
        (_download(platform="linux"), "p", "download[0].platform: 'linux' is no platform tag"),
        (_download(platform=None), "p", "download[0].platform: it is no value"),
        (_download(url="http://a.example/x"), "p", "no https:// address"),
        (_download(url="https://u:p@a.example/x"), "p", "no https:// address"),
        (_download(url="https://["), "p", "no https:// address"),
        (_download(sha256=SHA.upper()), "p", "no SHA-256"),
        (_download(sha256="00"), "p", "no SHA-256"),
        (_download(run="../x"), "p", "download[0].run"),
        (_download(run=""), "p", "download[0].run: it is blank"),
        (_download(size=3), "p", "download[0].size: it is none of"),
        (
            {"p": {"download": [PINNED, PINNED]}},
            "p",
            "download[1].platform: 'linux-x86_64' is given",
        ),
    ],
)
def test_a_malformed_block_names_program_field_and_value(
    block: object, program: str, reason: str
) -> None:
    with pytest.raises(BadPrograms) as refusal:
        parse_programs(block)
    assert refusal.value.program == program
    assert reason in refusal.value.reason


@pytest.mark.parametrize("role", ["driver", "hook", "skill"])
def test_only_a_tool_has_programs(role: str) -> None:
    with pytest.raises(BadPrograms, match=role):
        parse_programs(_needs({"system": "fonts"}), role)


_KEYS = ["needs", "download", "library", "file", "beside", "etc", "system", "packages"]
_KEYS += ["platform", "url", "sha256", "run", "p"]
_TREES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 1, "x", "a/b", "../x", "fonts", SHA, "https://a.example", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner),
    max_leaves=12,
)


@given(_TREES)
def test_any_block_is_read_or_refused(block: object) -> None:
    try:
        programs = parse_programs(block)
    except BadPrograms as refusal:
        assert refusal.reason
    else:
        assert all(program.needs or program.downloads for program in programs)
