"""Rows of the registry that nothing raises yet, each with the title of the issue that will.

A code leaves this table with the change that raises it; tests/registry holds both to that. Parts
that no issue describes yet go by their own name.
"""

from typing import Final

_FORMATIONS: Final = "Formations"
_DEPLOYMENT: Final = "Deployment"
_SCAFFOLDING: Final = "Scaffolding capsules and formations"
_DELEGATION: Final = "Delegation"

UNPROVOKED: Final[dict[str, str]] = {
    "E-CFG-001": _SCAFFOLDING,
    "E-DEPLOY-001": _DEPLOYMENT,
    "E-DEPLOY-003": _DEPLOYMENT,
    "E-DEPLOY-004": _DEPLOYMENT,
    "E-DEPLOY-006": _DEPLOYMENT,
    "E-NEW-001": _SCAFFOLDING,
    "E-NEW-002": _SCAFFOLDING,
    "E-NEW-003": _SCAFFOLDING,
    "E-NEW-004": _SCAFFOLDING,
    "E-NEW-005": _SCAFFOLDING,
    "E-NEW-006": _SCAFFOLDING,
    "E-NEW-007": _SCAFFOLDING,
    "E-ROS-005": _FORMATIONS,
    "E-ROS-006": _FORMATIONS,
    "E-ROS-007": _FORMATIONS,
    "E-RUN-020": _DELEGATION,
    "E-RUN-044": _FORMATIONS,
    "E-RUN-045": _FORMATIONS,
    "E-RUN-046": _FORMATIONS,
    "E-RUN-047": _FORMATIONS,
    "W-DEPLOY-001": _DEPLOYMENT,
    "W-DEPLOY-002": _DEPLOYMENT,
    "W-ROS-001": _FORMATIONS,
    "W-RUN-007": _FORMATIONS,
    "W-RUN-008": _FORMATIONS,
}
