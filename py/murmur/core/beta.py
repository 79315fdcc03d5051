"""The beta features that this build holds, each hidden until the operator enables it.

A constant of the build, spec/registry.md 23: a feature's change adds its line. The operator's list
is `beta.enabled` of `config.yaml`; names in it that no build knows yet are kept.
"""

from typing import Final

# Name and what it is, in the order in which `mur beta list` prints them.
FEATURES: Final[dict[str, str]] = {}
