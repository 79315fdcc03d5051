"""The registry of diagnostic codes, one row each: `errors` and `warnings`."""
