"""Plans that an agent submits: read, checked, run in waves, reported. spec/sessions.md 16."""
