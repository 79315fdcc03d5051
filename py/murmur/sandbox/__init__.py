"""What a command may do, what this host can enforce, and running it so. spec/containment.md."""
