"""Programs that stand in for Claude Code and Codex: their command lines, lines and sessions.

Their task is a script instead of a model: a JSON list of turns as in tests/providers/scripted.py,
with `text`, `thinking`, `tool_calls`, `usage`, `delay_ms` and `status`, taken one a request of the
model. The real programs, given a provider with the same script, print the same
(tests/long/harnesses). They call the capsule's tools as the real ones do, over MCP.

A turn may also hold `recall: true`: the model says which tasks its conversation held before.
"""
