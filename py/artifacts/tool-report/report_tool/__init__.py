"""tool-report: what a task has come to, kept in a durable store for whoever asks later."""
