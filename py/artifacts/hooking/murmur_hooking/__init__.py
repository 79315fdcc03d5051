"""What default hooks written in Python share. `component` runs inside a component alone."""
