"""Chat Completions, the wire format that several providers share (spec/artifacts.md 11, 16.1).

A driver says in a `Dialect` what its provider does otherwise, and answers with `turn.answer`.
"""
