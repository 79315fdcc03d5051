"""What the tests of the harnesses' drivers share."""
