"""tool-git: the host's git, with inputs and results that have names."""
