"""Shows what a turn's edits changed."""
