"""What the tools share: reading a call's members, its result, paths, and the durable store."""
