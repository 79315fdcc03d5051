"""The *Murmur home* block: every mode shown, the wide ones warned about."""

from pathlib import Path

from murmur.core.home import Home
from murmur.doctor.murmur_home import MOST_LISTED, home_block


def test_every_mode_of_the_home_is_shown_and_the_wide_ones_warned_about(tmp_path: Path) -> None:
    root = tmp_path / ".murmur"
    for folder in ("deploy_keys/dep_x", "artifacts", "records/p/ses_1/tmp", "formations/f/m/w"):
        (root / folder).mkdir(parents=True)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700)
    root.chmod(0o755)
    for name, mode in (
        ("config.yaml", 0o644),
        ("deploy_keys/dep_x/id", 0o644),
        ("artifacts/wide", 0o666),
        ("records/p/ses_1/tmp/wide", 0o666),
        ("formations/f/m/w/wide", 0o666),
        ("nexus-config.json", 0o644),
    ):
        (root / name).write_text("")
        (root / name).chmod(mode)
    (root / "deploy_keys" / "link").symlink_to("/etc/passwd")
    lines, found = home_block(Home(root), "")
    assert lines[:5] == [
        f"Murmur home ({root})",
        "  .: 0755  the murmur home, expected owner-only",
        "  config.yaml: 0644  provider credentials, expected owner-only",
        "  deploy_keys: 0700  SSH private keys, expected owner-only",
        "    wider than 0600: deploy_keys/dep_x/id is 0644",
    ]
    assert "  deployments.json: absent  deployment records, expected owner-only" in lines
    assert lines[-1] == "  nexus-config.json: 0644  something not recognised by this build"
    assert "  artifacts: 0700  installed artifacts" in lines
    shown = [each.message.partition(" ")[0] for each in found]
    assert shown == [str(root), f"{root}/config.yaml", f"{root}/deploy_keys/dep_x/id"]
    assert [each.hint for each in found][:2] == [
        f"run `chmod 700 {root}`",
        f"run `chmod 600 {root}/config.yaml`",
    ]
    assert not [line for line in lines if "w/wide" in line or "tmp/wide" in line]


def test_at_most_twenty_wide_paths_are_listed(tmp_path: Path) -> None:
    folder = tmp_path / ".murmur" / "state" / "s"
    folder.mkdir(parents=True)
    for path in (folder.parent.parent, folder.parent, folder):
        path.chmod(0o700)
    for number in range(MOST_LISTED + 3):
        (folder / f"{number:02d}").write_text("")
        (folder / f"{number:02d}").chmod(0o640)
    lines, found = home_block(Home(tmp_path / ".murmur"), "")
    assert sum(line.startswith("    wider than") for line in lines) == MOST_LISTED
    assert "    and 3 more wider than expected" in lines
    assert len(found) == MOST_LISTED
