"""tool-code-graph: the symbols of a repository and what uses what."""
