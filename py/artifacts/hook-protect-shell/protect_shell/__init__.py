"""Refuses commands that write to protected paths."""
