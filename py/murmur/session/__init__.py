"""One run of a capsule: prepare, stage, launch, run its tasks, tear down.

`launch.Launch -> prepare.Prepared -> stage.Staged -> start.Session -> run.Outcome`.
"""
