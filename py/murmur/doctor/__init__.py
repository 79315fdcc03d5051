"""`mur doctor`: whether a session of this project would find what it needs, and what holds it.

It launches nothing, writes nothing and exits 0 unless something is missing. One module per block;
`diagnose` puts them in order. Nothing but the command imports this package, which stands above
`session`. CLI reference, *mur doctor*; spec/registry.md 20; spec/diagnostics.md 7.
"""
