"""Scores a session."""
