"""Artifacts at rest: `.mur.zip` archives, the stores, `murmur.lock`, WIT levels, compiled forms.

Sits above `core`, `manifest` and `trace`; runs nothing and reaches no network by itself.
"""
