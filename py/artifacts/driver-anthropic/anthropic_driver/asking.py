"""A driver request as a Messages API body."""

from collections.abc import Mapping
from typing import Any

from murmur_guest.exchange import Block, Message, Request, text_of

from anthropic_driver.settings import Settings

CACHEABLE = ("text", "image", "tool_use", "tool_result")


def body(request: Request, settings: Settings) -> dict[str, Any]:
    """The body to send: streaming always, cache marks on the last tool, the system text and the
    last block that takes one.
    """
    sent: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        "messages": _messages(request.messages),
    }
    if request.system is not None:
        sent["system"] = [{"type": "text", "text": request.system}]
    if request.tools:
        sent["tools"] = [
            {"name": tool.name, "input_schema": dict(tool.parameters)}
            | ({"description": tool.description} if tool.description else {})
            for tool in request.tools
        ]
    if settings.thinking == "adaptive":
        sent["thinking"] = {"type": "adaptive"}
    elif settings.thinking == "enabled" and request.max_tokens > 1:
        budget = min(settings.thinking_budget_tokens, request.max_tokens - 1)
        sent["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if settings.cache_control is not None:
        _mark(sent, settings.cache_control)
    for key, value in request.params.items():
        sent.setdefault(key, value)
    return sent


def headers(settings: Settings) -> dict[str, str]:
    """The API's own headers; the key is none of them (the gateway adds it)."""
    sent = {"anthropic-version": "2023-06-01"}
    if settings.beta_features:
        sent["anthropic-beta"] = ",".join(settings.beta_features)
    return sent


def _mark(sent: dict[str, Any], control: Mapping[str, str]) -> None:
    for key in ("tools", "system"):
        if sent.get(key):
            sent[key][-1]["cache_control"] = dict(control)
    for message in reversed(sent["messages"]):
        for block in reversed(message["content"]):
            if block["type"] in CACHEABLE:
                block["cache_control"] = dict(control)
                return


def _messages(history: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Neighbours of one role become one message: all results of a turn must stand together."""
    sent: list[dict[str, Any]] = []
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        content = _tool_result(message) if message.role == "tool" else _blocks(message.content)
        if not content:
            continue
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += content
        else:
            sent.append({"role": role, "content": content})
    return sent


def _tool_result(message: Message) -> list[Block]:
    block: Block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    content = [b for b in _blocks(message.content) if b["type"] in ("text", "image")]
    if content:
        block["content"] = content
    if message.is_error:
        block["is_error"] = True
    return [block]


def _blocks(content: tuple[Block, ...]) -> list[Block]:
    return [block for block in map(_block, content) if block is not None]


def _block(block: Block) -> Block | None:
    """None for what the API refuses (empty text, unsigned thinking) or does not know."""
    kind = block["type"]
    if kind == "text":
        text = text_of(block)
        return {"type": "text", "text": text} if text.strip() else None
    if kind == "thinking" and block.get("signature"):
        signature = block["signature"]
        return {"type": "thinking", "thinking": text_of(block), "signature": signature}
    if kind == "image":
        return {"type": "image", "source": block.get("source")}
    if kind == "tool_call":
        call = {"id": block.get("id"), "name": block.get("name"), "input": block.get("input", {})}
        return {"type": "tool_use", **call}
    return None
