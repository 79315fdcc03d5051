"""What the drivers' tests share: a provider in the test's own process, and what is asked of it."""
