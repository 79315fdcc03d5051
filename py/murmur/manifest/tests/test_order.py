"""Which of several faults is reported. spec/diagnostics.md 6.1, step 9; decisions 1."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.parse import load_capsule

# One fault of each code, in the order in which the reference checks for them. Each is a line of
# its own, so that any of them stand in one manifest.
NAME = "name: demo\n"
VERSION = "version: '1'\n"
SYNTAX = "trace: [\n"
MISSING = ""  # in place of VERSION
WRONG = "lifecycle: {queue_depth: 0}\n"
TWICE = "trace: {capture: meta, include_tool_output: true}\n"
TOP_LEVEL = "registry: {url: x}\n"
STRAY = "inference: {model: m, endpoint: nowhere}\n"
CONFLICT = "capabilities: {task_io: {read: true}}\n"
UNDECIDED = "capabilities: {plan: {}}\n"
KEYLESS = "artifacts: [{name: a/b, version: '1', gateway: {endpoint: 'https://a.example'}}]\n"


def code_of(text: str) -> tuple[str, str]:
    with pytest.raises(MurmurError) as caught:
        load_capsule(text, "murmur.yaml")
    return caught.value.code, caught.value.message


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        # A document that is none comes before everything in it.
        (NAME + WRONG + KEYLESS + SYNTAX, "E-MAN-002", "murmur.yaml:"),
        (NAME + NAME + WRONG, "E-MAN-002", "given twice"),
        # A missing field comes before every wrong one, whoever finds that one.
        (NAME + WRONG, "E-MAN-001", "version"),
        (NAME + TWICE, "E-MAN-001", "version"),
        (NAME + TOP_LEVEL, "E-MAN-001", "version"),
        (NAME + STRAY, "E-MAN-001", "version"),
        (NAME + CONFLICT, "E-MAN-001", "version"),
        (NAME + UNDECIDED, "E-MAN-001", "version"),
        (NAME + KEYLESS, "E-MAN-001", "version"),
        (VERSION + WRONG + KEYLESS, "E-MAN-001", "name"),
        ("", "E-MAN-001", "name"),
        # Every wrong value comes before a gateway without a key.
        (NAME + VERSION + KEYLESS + WRONG, "E-MAN-003", "queue_depth"),
        (NAME + VERSION + KEYLESS + TWICE, "E-MAN-003", "include_tool_output"),
        (NAME + VERSION + KEYLESS + TOP_LEVEL, "E-MAN-003", "registry"),
        (NAME + VERSION + KEYLESS + STRAY, "E-MAN-003", "inference.endpoint"),
        (NAME + VERSION + KEYLESS + CONFLICT, "E-MAN-003", "task_io"),
        (NAME + VERSION + KEYLESS + UNDECIDED, "E-MAN-003", "plan.submit"),
        (NAME + VERSION + KEYLESS, "E-CAP-018", "a/b"),
        # Among the wrong ones: spellings, blocks that are gone, values, what blocks say together.
        (NAME + VERSION + WRONG + TWICE + CONFLICT, "E-MAN-003", "include_tool_output"),
        (NAME + VERSION + WRONG + TOP_LEVEL + CONFLICT, "E-MAN-003", "registry"),
        (NAME + VERSION + CONFLICT + WRONG, "E-MAN-003", "queue_depth"),
    ],
)
def test_of_several_faults_the_documented_one_is_reported(text: str, code: str, fact: str) -> None:
    found, message = code_of(text)
    assert found == code and fact in message


def test_what_a_later_phase_refuses_passes_the_parser() -> None:
    """The code and the phase of E-CAP-001, 002, 008 to 012 and 016 are those of staging."""
    text = (
        NAME
        + VERSION
        + (
            "artifacts: [{name: a/b, version: '1', config: [], capabilities: {filesystem: "
            "{scope: ../x}, state: {store: a/b}, network: {allow: ['ftp://x']}}}]\n"
            "capabilities: {network: {allow: ['a/b']}, filesystem: {scope: /x, read_only: [/x]}, "
            "env: {allow: [AWS_X]}}\n"
            "context: {record_store: a/b}\n"
            "lifecycle: {after_task: sleep}\n"
            "exports: {peer_files: {root: out, max_ttl: 2h}}\n"
        )
    )
    assert load_capsule(text, "murmur.yaml").capsule.capabilities.filesystem_scope == "/x"


def test_a_refused_manifest_is_not_warned_about() -> None:
    """W-MAN-001 and W-SEC-019 belong to step 10: a refusal of step 9 comes alone."""
    code, message = code_of(
        NAME + VERSION + "artefacts: []\ntrace: {include_tool_output: true}\n" + WRONG
    )
    assert code == "E-MAN-003" and "queue_depth" in message


def test_warnings_are_spellings_then_unknown_keys_in_order_then_the_newer_pin() -> None:
    text = (
        NAME
        + VERSION
        + (
            "zzz: 1\nmur_version: '99.0.0'\n"
            "trace: {include_tool_output: true, xxx: 1}\n"
            "artifacts: [{name: tool-x, version: '1'}]\n"
        )
    )
    loaded = load_capsule(text, "murmur.yaml", "1.0.0")
    codes = [warning.code for warning in loaded.warnings]
    assert codes == ["W-MAN-001"] * 2 + ["W-SEC-019"] * 3
    assert "'zzz'" in loaded.warnings[2].message and "'xxx'" in loaded.warnings[3].message
    assert "99.0.0" in loaded.warnings[4].message


def test_the_newer_pin_may_stand_under_deploy() -> None:
    text = NAME + VERSION + "zzz: 1\ndeploy: {mur_version: '99.0.0'}\n"
    assert "99.0.0" in load_capsule(text, "murmur.yaml", "1.0.0").warnings[-1].message
