"""Which commit a mur was built from. CLI reference, `mur version`."""

from pathlib import Path

import pytest

from murmur.core import version

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the version module of a made-up installation would lie."""
    path = tmp_path / "checkout" / "py" / "murmur" / "core" / "version.py"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(version, "_HERE", path)
    monkeypatch.setattr(version, "build_commit", version.build_commit.__wrapped__)
    return path


def test_a_build_without_a_checkout_has_no_commit(module: Path) -> None:
    assert version.build_commit() is None


def test_a_packaged_build_has_it_baked_in(module: Path) -> None:
    (module.parent / "commit").write_text(COMMIT + "\n")
    assert version.build_commit() == version.baked_commit() == COMMIT
    (module.parent / "commit").write_text("main\n")
    assert version.build_commit() is None


def test_a_checkout_is_asked_itself(module: Path) -> None:
    git = module.parents[3] / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert version.build_commit() is None
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n^{'1' * 40}\n")
    assert version.build_commit() == COMMIT
    (git / "refs" / "heads" / "main").write_text("a" * 40 + "\n")
    assert version.build_commit() == "a" * 40
    (git / "HEAD").write_text(COMMIT + "\n")
    assert version.build_commit() == COMMIT


def test_a_linked_worktree_shares_the_branches_of_its_repository(module: Path) -> None:
    git = module.parents[4] / "repository" / ".git"
    worktree = git / "worktrees" / "checkout"
    (git / "refs" / "heads").mkdir(parents=True)
    worktree.mkdir(parents=True)
    (module.parents[3] / ".git").write_text(f"gitdir: {worktree}\n")
    (worktree / "HEAD").write_text("ref: refs/heads/side\n")
    (worktree / "commondir").write_text("../..\n")
    (git / "refs" / "heads" / "side").write_text(COMMIT + "\n")
    assert version.build_commit() == COMMIT


def test_a_git_folder_above_an_installation_is_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bin" / "murmur" / "core" / "version.py"
    path.parent.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(COMMIT + "\n")
    monkeypatch.setattr(version, "_HERE", path)
    assert version.build_commit.__wrapped__() is None
