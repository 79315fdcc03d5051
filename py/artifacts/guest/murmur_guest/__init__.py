"""What the Python artifacts share: the driver's JSON, server-sent events, streaming HTTP.

Only `component` and `http` touch the generated bindings (`wit_world`), so all else runs in plain
Python as well. A component may import nothing after it was built: imports stand at module level.
"""
