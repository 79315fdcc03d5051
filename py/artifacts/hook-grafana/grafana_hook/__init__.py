"""Sends a session to an OpenTelemetry collector."""
