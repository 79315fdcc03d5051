"""tool-request-input: asks whoever sent the task."""
