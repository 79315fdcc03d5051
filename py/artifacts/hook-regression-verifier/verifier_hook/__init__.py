"""Opens a task again that broke a test."""
