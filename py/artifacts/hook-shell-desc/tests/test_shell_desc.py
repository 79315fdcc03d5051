"""Which binaries are described, and how."""

import json

from shell_desc_hook.describing import DESCRIPTIONS, manifests


def test_only_allowed_binaries_that_are_known_are_described() -> None:
    assert [name for name, _ in manifests(["jq", "own-tool", "bash"])] == ["bash", "jq"]
    assert manifests([]) == []


def test_a_manifest_requires_the_command_and_says_what_it_is() -> None:
    for name, text in manifests(DESCRIPTIONS):
        manifest = json.loads(text)
        assert manifest["name"] == name
        assert manifest["input_schema"]["required"] == ["command"]
        whole = "whole command line" in manifest["description"]
        assert whole is (name == "bash")
