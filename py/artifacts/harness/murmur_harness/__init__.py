"""What drivers of command-line harnesses share: the contract, reading output lines, the export."""
