"""What the door refuses with: JSON-RPC errors and plain HTTP refusals. spec/door.md 5.4, 7."""

from collections.abc import Mapping
from typing import Final

from murmur.core.tasks import TaskState

A2A_DOMAIN: Final = "a2a-protocol.org"
MURMUR_DOMAIN: Final = "murmur.nexus"


class RpcError(Exception):
    """An error object of JSON-RPC. With a `reason` it carries one google.rpc.ErrorInfo as data."""

    def __init__(
        self,
        code: int,
        message: str,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
        domain: str = A2A_DOMAIN,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.domain = domain

    def body(self) -> dict[str, object]:
        """The `error` member of the response."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.reason is not None:
            body["data"] = [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": self.reason,
                    "domain": self.domain,
                    "metadata": self.metadata,
                }
            ]
        return body


class HttpRefusal(Exception):
    """An answer outside JSON-RPC: a status and `{"error": code, "message": sentence}`."""

    def __init__(
        self, status: int, error: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = dict(headers or {})


def invalid_json() -> RpcError:
    return RpcError(-32700, "Invalid JSON payload")


def invalid_request() -> RpcError:
    return RpcError(-32600, "Request payload validation error")


def method_not_found() -> RpcError:
    return RpcError(-32601, "Method not found")


def invalid_params(message: str) -> RpcError:
    """`message` names the parameter at fault."""
    return RpcError(-32602, message)


def internal(message: str) -> RpcError:
    """Accepted, but the session could not be reached with it; `message` names the failure."""
    return RpcError(-32603, message)


def task_not_found(task_id: str) -> RpcError:
    return RpcError(-32001, "Task not found", "TASK_NOT_FOUND", {"taskId": task_id})


def task_not_cancelable(task_id: str, state: TaskState) -> RpcError:
    return RpcError(
        -32002,
        f"Task cannot be canceled: it is already {state.wire}",
        "TASK_NOT_CANCELABLE",
        {"taskId": task_id, "state": state.wire},
    )


def unsupported_operation(message: str, metadata: Mapping[str, str] | None = None) -> RpcError:
    return RpcError(-32004, message, "UNSUPPORTED_OPERATION", metadata)


def content_type_not_supported(part_index: int, media_type: str | None) -> RpcError:
    metadata = {"partIndex": str(part_index)}
    if media_type is not None:
        metadata["mediaType"] = media_type
    return RpcError(
        -32005,
        f"Content type not supported: part {part_index} holds neither text nor data",
        "CONTENT_TYPE_NOT_SUPPORTED",
        metadata,
    )


def version_not_supported(requested: str) -> RpcError:
    return RpcError(
        -32009,
        "A2A protocol version not supported",
        "VERSION_NOT_SUPPORTED",
        {"requestedVersion": requested, "supportedVersions": "1.0"},
    )


def completion_misaddressed(session_id: str) -> RpcError:
    """Never names the session that is running here."""
    return RpcError(
        -31001,
        "Completion addressed to another session",
        "COMPLETION_MISADDRESSED",
        {"addressedSession": session_id},
        MURMUR_DOMAIN,
    )


def completion_not_awaited(delegation_id: str | None) -> RpcError:
    return RpcError(
        -31002,
        "Completion not awaited",
        "COMPLETION_NOT_AWAITED",
        {} if delegation_id is None else {"delegationId": delegation_id},
        MURMUR_DOMAIN,
    )


def peer_not_accepted() -> HttpRefusal:
    """The same bytes for every such request, whatever else is in it."""
    return HttpRefusal(403, "peer_not_accepted", "this capsule takes no tasks from other capsules")


def body_too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, "body_too_large", f"the request body is over {limit} bytes")
