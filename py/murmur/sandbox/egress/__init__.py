"""The way out of a session's commands: names answered, connections carried. spec/containment.md 17.

The session's network namespace holds nothing but loopback, and one route that makes every IPv4
address local. The helper opens the sockets in there (c/sandbox/listeners.c); `Egress` serves them
on the runtime's event loop, outside.
"""
