"""Guests: WebAssembly components, each run in a guest-host process and never in the runtime itself.

The runtime side is `murmur.guest.client`; `zygote`, `host` and what they import load wasmtime and
run only in processes of their own (design/decisions.md 7; spec/containment.md 8; spec/sessions.md
25).
"""
