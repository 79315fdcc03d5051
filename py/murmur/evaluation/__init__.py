"""Scores of sessions, datasets of cases, and how two manifests compare on them."""
