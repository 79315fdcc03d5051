"""What is thrown at a door, and what it may answer."""
