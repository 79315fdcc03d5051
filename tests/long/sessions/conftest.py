"""The home and the project folders of the end-to-end runs."""

from tests.endtoend.conftest import place, project

__all__ = ["place", "project"]
