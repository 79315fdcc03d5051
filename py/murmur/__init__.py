"""murmur: a capability-secure runtime for AI-agent capsules.

The packages below this one follow the floor plan of the repository: `core` at the bottom,
`cli` at the top, and BUILD files that refuse an import the plan does not allow.
"""
