"""What every package stands on: ids, the home layout, safe file access, diagnostics, streams.

Nothing here imports another murmur package or a library outside the standard one, so that the
light commands (`mur version`) stay light.
"""
