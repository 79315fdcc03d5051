"""Capsule sessions and the calls between them, drawn from the spans in a Grafana Tempo."""
