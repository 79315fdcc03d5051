"""Writes down what happens in a session."""
