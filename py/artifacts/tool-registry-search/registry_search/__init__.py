"""tool-registry-search: searches an artifact index."""
