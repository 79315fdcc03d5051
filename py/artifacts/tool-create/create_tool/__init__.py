"""tool-create: begins a new artifact in the work folder."""
