"""Codes of the commands that reach a running capsule, where a host must be arranged for them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.endtoend.capsule import TIMEOUT_SECONDS, Place, mur_command, replay, write_manifest


def test_e_run_024_sends_no_signal_to_a_process_whose_start_cannot_be_read(
    place: Place, project: Path
) -> None:
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to cover /proc")
    lifecycle = {"task_acceptance": "queue", "after_task": "sleep"}
    write_manifest(project, replay([{"text": "done"}], lifecycle=lifecycle))
    running = place.start(cwd=project)
    session = running.ready["session_id"]
    covered = [unshare, "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]

    def mur(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*covered, *mur_command(), *arguments],
            cwd=project,
            env=dict(place.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    try:
        listed = next(line for line in mur("ps").stdout.splitlines() if line.startswith(session))
        assert listed.split()[2] == "unreachable"
        refused = mur("stop", session)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith(f"error[E-RUN-024]: session {session} was not ended")
        assert "error[E-RUN-023]" in mur("watch", session).stderr
        # Ordinals count over records that pass layers 1 and 2.
        assert session not in mur("token", "@1").stderr
        assert (place.home / ".murmur" / "running" / f"{session}.json").exists()
        assert running.process.poll() is None
    finally:
        running.end()


@pytest.mark.parametrize("export", ["files", "peer_files"])
def test_e_cap_007_refuses_a_root_that_leads_out_of_the_work_folder(
    place: Place, project: Path, tmp_path: Path, export: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "work").mkdir()
    (project / "work" / "out").symlink_to(outside)
    block = {"root": "out", "mode": "read-only"} if export == "files" else {"root": "out"}
    write_manifest(project, replay([{"text": "done"}], exports={export: block}))
    done = place.mur("run", "--task", "go", "--workdir", "work", cwd=project)
    assert (done.returncode, done.stdout) == (1, "status:  failed\n")
    assert done.stderr.startswith(f"error[E-CAP-007]: exports.{export}.root: out resolves to ")
    assert str(outside) in done.stderr and str(project / "work") in done.stderr
    assert list((project / "work").iterdir()) == [project / "work" / "out"]
    # A root that is not there yet is fine.
    (project / "work" / "out").unlink()
    assert place.mur("run", "--task", "go", "--workdir", "work", cwd=project).returncode == 0


def test_e_run_041_ends_a_launch_whose_control_token_cannot_be_kept(
    place: Place, project: Path
) -> None:
    control = {"settings": ["inference.max_tokens"]}
    write_manifest(project, replay([{"text": "done"}], control=control))
    folder = place.home / ".murmur" / "running"
    aside = folder.with_name("aside")
    if folder.exists():
        folder.rename(aside)
    folder.write_text("")
    try:
        done = place.mur("run", "--task", "go", cwd=project)
    finally:
        folder.unlink()
        if aside.exists():
            aside.rename(folder)
    assert (done.returncode, done.stdout) == (1, "status:  failed\n")
    last = done.stderr.splitlines()[-2]
    assert last.startswith(f"error[E-RUN-041]: the control token file {folder}/ses_")
    assert "ctl1." not in done.stderr
