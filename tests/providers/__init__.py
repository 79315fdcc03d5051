"""Servers that speak the providers' wire formats, for tests: real HTTP, real server-sent events.

    from tests.providers import anthropic_server

    with anthropic_server.start([{"tool_calls": [{"name": "tool-editor", "input": {...}}]},
                                 {"text": "done"}], key="sk-test") as server:
        ...  # point a gateway's endpoint at server.url
        assert server.requests[0].headers["x-api-key"] == "sk-test"

A script is a list of turns, taken one a request; what a turn may hold stands in `scripted.py`.
"""
