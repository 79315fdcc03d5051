"""tool-corpus: typed records in a durable store, appended and never changed."""
