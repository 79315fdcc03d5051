"""The reference pages below docs/reference, made from the code's own registries."""
