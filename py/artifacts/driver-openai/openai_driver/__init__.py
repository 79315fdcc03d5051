"""driver-openai: Chat Completions and Responses behind the driver contract (spec/artifacts.md 11, 16.1)."""
