"""The registry of diagnostic codes, one row each.

`errors` and `warnings` join the tables of their families; `unprovoked` lists the rows that nothing
raises yet, each with the issue that will.
"""
