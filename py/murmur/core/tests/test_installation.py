"""An unpacked program is looked at again after commands ran without a boundary: decisions 13."""

import hashlib
from pathlib import Path

import pytest

from murmur.core.installation import MANIFEST, Installation, this_installation


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    folder = tmp_path / "bin" / "payload"
    module = folder / "murmur" / "core" / "installation.py"
    module.parent.mkdir(parents=True)
    files = {"murmur/core/installation.py": b"code", "murmur/other.py": b"more"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in files.items()]
    (folder / MANIFEST).write_text("\n".join(lines) + "\n")
    found = this_installation(str(module))
    assert found is not None and found.folder == folder
    return found


def test_an_untouched_installation_has_no_changed_file(installed: Installation) -> None:
    assert installed.changed() == []


def test_a_changed_a_removed_and_an_added_file_are_named(installed: Installation) -> None:
    (installed.folder / "murmur" / "other.py").write_bytes(b"evil")
    (installed.folder / "murmur" / "core" / "installation.py").unlink()
    (installed.folder / "sitecustomize.py").write_bytes(b"evil")
    assert installed.changed() == [
        "murmur/core/installation.py",
        "murmur/other.py",
        "sitecustomize.py",
    ]


def test_the_list_is_the_one_read_before_and_not_the_one_that_lies_there_now(
    installed: Installation,
) -> None:
    (installed.folder / "murmur" / "other.py").write_bytes(b"evil")
    digest = hashlib.sha256(b"evil").hexdigest()
    (installed.folder / MANIFEST).write_text(f"{digest}  murmur/other.py\n")
    assert installed.changed() == ["murmur/other.py"]


def test_a_link_in_the_place_of_a_file_or_a_folder_counts(
    installed: Installation, tmp_path: Path
) -> None:
    other = installed.folder / "murmur" / "other.py"
    other.rename(tmp_path / "moved")
    other.symlink_to(tmp_path / "moved")
    (installed.folder / "more").symlink_to(tmp_path)
    assert installed.changed() == ["more", "murmur/other.py"]


def test_removing_it_leaves_its_neighbours(installed: Installation) -> None:
    (installed.folder.parent / "neighbour").mkdir()
    installed.remove()
    assert [path.name for path in installed.folder.parent.iterdir()] == ["neighbour"]


def test_a_source_tree_is_no_installation() -> None:
    assert this_installation() is None
