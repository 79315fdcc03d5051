"""Keys of gateways: spec/formations-and-newer-manifest.md A4, spec/registry.md 21."""

import os
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.inference.credentials import CredentialChange, Resolved, resolve_key
from murmur.manifest.capsule import Gateway

ENDPOINT = "https://api.example.com"


def resolve(api_key: str | None, config: Path, **environ: str) -> Resolved:
    return resolve_key(
        Gateway(ENDPOINT, api_key),
        artifact="murmur/driver-x",
        at="murmur.yaml",
        field="artifacts[0].gateway.api_key",
        config=config,
        environ=environ,
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    write(path, "credentials:\n  PROVIDER_KEY: stored-key-1\n")
    return path


def write(path: Path, text: str) -> None:
    """As `mur config set` does: a new file renamed over the old one."""
    fresh = path.with_name("fresh")
    fresh.write_text(text)
    fresh.chmod(0o600)
    fresh.rename(path)


def key(resolved: Resolved) -> str:
    assert resolved.credential is not None
    return resolved.credential.current().reveal()


def test_a_stored_credential_wins_over_the_environment(config: Path) -> None:
    resolved = resolve("${PROVIDER_KEY}", config, PROVIDER_KEY="from-env-1")
    assert (key(resolved), resolved.source, resolved.warnings) == ("stored-key-1", "config", ())
    assert resolved.credential is not None
    assert resolved.credential.origin == f"credentials.PROVIDER_KEY in {config}"


def test_the_environment_is_read_once_with_a_warning(tmp_path: Path) -> None:
    environ = {"PROVIDER_KEY": "from-env-1"}
    resolved = resolve_key(
        Gateway(ENDPOINT, "${PROVIDER_KEY}"),
        artifact="murmur/driver-x",
        at="murmur.yaml",
        field="f",
        config=tmp_path / "none",
        environ=environ,
    )
    environ["PROVIDER_KEY"] = "later"
    assert (key(resolved), resolved.source) == ("from-env-1", "environment")
    assert [warning.code for warning in resolved.warnings] == ["W-SEC-027"]
    assert "from-env-1" not in repr(resolved) + resolved.warnings[0].message
    assert resolved.credential is not None
    assert resolved.credential.origin == "the environment variable PROVIDER_KEY"


@pytest.mark.parametrize("literal", ["sk-ant-xxxx", "${lower}", "${A-B}", "x${A}", "$KEY"])
def test_anything_but_an_upper_snake_reference_is_a_literal(literal: str, tmp_path: Path) -> None:
    resolved = resolve(literal, tmp_path / "none", A="1", KEY="2")
    assert (key(resolved), resolved.source) == (literal, "manifest")
    assert [warning.code for warning in resolved.warnings] == ["W-SEC-027"]
    assert literal not in repr(resolved)


def test_keyless_has_no_credential(tmp_path: Path) -> None:
    resolved = resolve_key(
        Gateway(ENDPOINT, None, keyless=True),
        artifact="murmur/driver-x",
        at="murmur.yaml",
        field="f",
        config=tmp_path / "none",
        environ={},
    )
    assert resolved == Resolved(None, "keyless")


@pytest.mark.parametrize("text", [None, "", "  "])
def test_neither_key_nor_keyless_is_refused(text: str | None, tmp_path: Path) -> None:
    with pytest.raises(MurmurError) as refused:
        resolve(text, tmp_path / "none")
    assert refused.value.code == "E-CAP-018"


@pytest.mark.parametrize("stored", ["", "credentials: {}", "credentials:\n  PROVIDER_KEY: ''\n"])
def test_a_reference_held_nowhere_is_refused_naming_both_places(
    stored: str, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(stored)
    with pytest.raises(MurmurError) as refused:
        resolve("${PROVIDER_KEY}", config, PROVIDER_KEY="  ")
    assert refused.value.code == "E-MAN-003"
    for fact in (
        "murmur/driver-x",
        "artifacts[0].gateway.api_key",
        f"credentials.PROVIDER_KEY in {config}",
        "environment variable PROVIDER_KEY",
    ):
        assert fact in refused.value.message


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(tmp_path: Path) -> None:
    for text, environ in (("a\tb-secret", {}), ("${K}", {"K": "a\nb-secret"})):
        with pytest.raises(MurmurError) as refused:
            resolve(text, tmp_path / "none", **environ)
        assert refused.value.code == "E-MAN-003"
        assert "b-secret" not in str(refused.value) + repr(refused.value)


def test_a_replaced_entry_is_used_on_the_next_request(config: Path) -> None:
    resolved = resolve("${PROVIDER_KEY}", config)
    changes: list[CredentialChange] = []
    assert resolved.credential is not None
    resolved.credential.report = changes.append
    assert key(resolved) == "stored-key-1"
    write(config, "credentials:\n  PROVIDER_KEY: stored-key-2\n")
    assert key(resolved) == "stored-key-2"
    assert changes == [
        CredentialChange("config", "PROVIDER_KEY", "rotated", trigger="file_changed")
    ]
    assert "stored-key" not in repr(changes)


def test_a_rejection_reads_the_file_again_whatever_its_times_say(config: Path) -> None:
    resolved = resolve("${PROVIDER_KEY}", config)
    assert resolved.credential is not None
    before = os.stat(config)
    with config.open("r+") as file:
        file.write("credentials:\n  PROVIDER_KEY: stored-key-9\n")
    os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert resolved.credential.reread().reveal() == "stored-key-9"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("credentials: {}\n", "no_entry"),
        ("credentials:\n  PROVIDER_KEY:\n", "empty_entry"),
        ("credentials: [\n", "unparseable"),
        (None, "missing"),
        ("a pipe", "unreadable"),
    ],
)
def test_losing_the_entry_keeps_the_last_key_and_is_reported_once(
    config: Path, text: str | None, reason: str
) -> None:
    resolved = resolve("${PROVIDER_KEY}", config)
    assert resolved.credential is not None
    changes: list[CredentialChange] = []
    resolved.credential.report = changes.append
    if text is None:
        config.unlink()
    elif text == "a pipe":
        config.unlink()
        os.mkfifo(config)
    else:
        write(config, text)
    assert key(resolved) == "stored-key-1"
    assert resolved.credential.reread().reveal() == "stored-key-1"
    assert [(change.change, change.reason) for change in changes] == [("unreadable", reason)]


def test_a_config_that_others_may_read_is_warned_about(config: Path) -> None:
    config.chmod(0o644)
    resolved = resolve("${PROVIDER_KEY}", config)
    assert [warning.code for warning in resolved.warnings] == ["W-SEC-028"]
    assert "0644" in resolved.warnings[0].message
