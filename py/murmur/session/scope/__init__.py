"""The scope report: what a session may do, and what holds it to that. spec/containment.md 6.

`model` is the object, `report` decides it, `text` and `schema` show it. `mur run --explain-scope`
prints it, `session_start.effective_grants` records it, `mur doctor` prints some of its blocks.
"""
