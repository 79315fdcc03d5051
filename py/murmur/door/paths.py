"""The paths that a door answers beside `/`. spec/door.md 2."""

from typing import Final

CARD: Final = "/.well-known/agent-card.json"
FILES: Final = "/resources/files"
PEER: Final = "/resources/peer"
RESOURCES: Final = "/resources/"
CONTROL: Final = "/control"
SETTINGS: Final = "/control/settings/"
SECRETS: Final = "/control/secrets/"
