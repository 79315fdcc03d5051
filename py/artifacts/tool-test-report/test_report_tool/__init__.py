"""tool-test-report: what a test runner's output says, the same for five of them."""
