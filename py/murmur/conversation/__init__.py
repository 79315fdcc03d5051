"""The conversation records under `~/.murmur/conversations`. spec/sessions.md 18."""
