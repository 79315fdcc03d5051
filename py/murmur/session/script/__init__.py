"""Script capsules: a capsule without `inference:`, whose own component is the program.

spec/sessions.md 24. It is staged as any capsule, binds no door, and ends when `run` returns.
"""
