"""Capsule and artifact manifests: read, checked, and handed on as frozen dataclasses.

`parse.load_capsule` reads what `mur run` launches, `artifact.parse_artifact_manifest` what ships
inside a `.mur.zip`. Pydantic stays inside `models`; what other packages see is plain data.
"""
