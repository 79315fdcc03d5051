"""A driver request as the body of a Chat Completions request."""

from typing import Any

from murmur_guest.exchange import Block, Message, Request, text_of
from murmur_guest.untyped import compact, mapping, string

from murmur_chat.dialect import Dialect

NO_REASONING = " "
"""What stands for the reasoning of a call made without any: thinking models refuse a call that
lacks the member, and some refuse an empty one."""


def body(request: Request, dialect: Dialect) -> dict[str, Any]:
    """The body to send: streaming always, the request's `params` where nothing else is set."""
    sent: dict[str, Any] = {
        "model": request.model,
        dialect.output_cap: request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": _messages(request, dialect),
    }
    if request.tools:
        sent["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "parameters": dict(tool.parameters)}
                | ({"description": tool.description} if tool.description else {}),
            }
            for tool in request.tools
        ]
    if dialect.takes_cache_key and request.prompt_cache_key is not None:
        sent["prompt_cache_key"] = request.prompt_cache_key
    sent |= {key: value for key, value in dialect.members.items() if value is not None}
    for key, value in request.params.items():
        sent.setdefault(key, value)
    return sent


def data_url(block: Block) -> str | None:
    """An image block as a data URL; None when it holds no base64 image."""
    source = mapping(block.get("source"))
    if source.get("type") != "base64":
        return None
    return f"data:{string(source.get('media_type'))};base64,{string(source.get('data'))}"


def _messages(request: Request, dialect: Dialect) -> list[dict[str, Any]]:
    """The history. Results take no images: those follow the turn's last result, from the user."""
    sent: list[dict[str, Any]] = []
    if request.system is not None:
        sent.append({"role": "system", "content": request.system})
    shown: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "tool":
            call = {"role": "tool", "tool_call_id": message.tool_call_id}
            sent.append({**call, "content": message.text})
            shown += _images(message)
            continue
        if shown:
            sent.append({"role": "user", "content": shown})
            shown = []
        if message.role == "user":
            said = _user(message)
        else:
            said = _assistant(message, dialect)
        if said is not None:
            sent.append(said)
    if shown:
        sent.append({"role": "user", "content": shown})
    return sent


def _user(message: Message) -> dict[str, Any] | None:
    images = _images(message)
    if not images:
        return {"role": "user", "content": message.text} if message.text else None
    texts = [{"type": "text", "text": text_of(block)} for block in _blocks(message, "text")]
    return {"role": "user", "content": texts + images}


def _images(message: Message) -> list[dict[str, Any]]:
    urls = [data_url(block) for block in _blocks(message, "image")]
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if url is not None]


def _assistant(message: Message, dialect: Dialect) -> dict[str, Any] | None:
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {
                "name": block.get("name"),
                "arguments": compact(block.get("input", {})),
            },
        }
        for block in _blocks(message, "tool_call")
    ]
    if not calls and not message.text:
        return None
    sent: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if dialect.replays_reasoning:
        reasoning = "".join(text_of(block) for block in _blocks(message, "thinking"))
        if reasoning or calls:
            sent["reasoning_content"] = reasoning or NO_REASONING
    if calls:
        sent["tool_calls"] = calls
    return sent


def _blocks(message: Message, kind: str) -> list[Block]:
    """A message's blocks of one type; text blocks without text are left out."""
    found = [block for block in message.content if block["type"] == kind]
    return [block for block in found if kind != "text" or text_of(block)]
