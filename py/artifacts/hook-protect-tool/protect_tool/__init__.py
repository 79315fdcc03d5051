"""Refuses tool calls that write to protected paths."""
