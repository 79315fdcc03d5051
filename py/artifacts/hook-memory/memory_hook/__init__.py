"""Begins a task with what was said before."""
