"""Model calls: the gateway that guests go out through, drivers, model limits, retry, tokens."""
