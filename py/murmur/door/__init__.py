"""The A2A door: protocol v1.0 over JSON-RPC, spoken over HTTP/1.1. spec/door.md.

The package is handed a `murmur.core.tasks.TaskBoard` and knows nothing of the session behind it.
"""
