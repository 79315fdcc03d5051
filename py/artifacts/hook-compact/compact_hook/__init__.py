"""Shortens a conversation to a summary that the session's model writes."""
