"""driver-openai: Chat Completions and Responses as a driver (spec/artifacts.md 11, 16.1)."""
