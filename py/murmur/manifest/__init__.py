"""Capsule and artifact manifests: read, checked, and handed on as frozen dataclasses.

`parse.load_capsule` reads what `mur run` launches, `artifact.parse_artifact_manifest` what ships
inside a `.mur.zip`. Pydantic stays inside `models`; what other packages see is plain data.
"""

import os

# Pydantic would import, at its first model, whatever plug-ins any installed distribution names:
# code that nobody asked for, and time at every launch spent on looking for it.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
