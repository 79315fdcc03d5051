"""Which calls write below a read-only path, as far as that can be told before they run.

The package stands below `manifest`, whose warnings ask the same questions of a tool's schema, and
imports nothing of murmur: the dispatcher and plan steps ask it before every call, the scope report
asks it once. `check.shell_write` and `check.tool_write` are its two doors. The reference is
seeds/manifest-schema.md, Read-only paths, and spec/sessions.md 26. What cannot be identified as a
write for certain is let through: it is a guard against mistakes, the kernel guards the rest.
"""
