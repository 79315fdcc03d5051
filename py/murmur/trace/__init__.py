"""The session's trace: one JSON object a line, each of a kind that `events` declares.

`events` is the catalogue, `writer.TraceWriter` the only way lines come to be, `reader` the way
back. spec/observability.md 1 to 8.
"""
