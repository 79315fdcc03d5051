"""Hooks: components that the runtime calls at fixed points of a session. spec/artifacts.md 15.

`contracts` says who hears what, `calls` reaches a hook's component, `imports` answers what it asks,
`dispatch` calls the hooks of an event in order and takes what they may commit.
"""
