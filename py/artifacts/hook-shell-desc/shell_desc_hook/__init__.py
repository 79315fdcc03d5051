"""Describes common shell tools."""
