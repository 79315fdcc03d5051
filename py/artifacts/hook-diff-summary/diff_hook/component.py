"""The component: files are looked at before their edit, and again when the model has answered."""

from murmur_hooking.component import NOTHING, QuietHook
from wit_world.imports import lifecycle

from diff_hook.diffing import LARGEST, artifact, destinations

# The component lasts as long as the session; the object that answers is made for each call.
_seen: dict[str, str | None] = {}
_session: list[str] = []


class Lifecycle(QuietHook):
    """The export."""

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        """Whose edits they are."""
        _session[:] = [ctx.session_id]
        return NOTHING

    def on_inference(self, event: lifecycle.InferenceEvent) -> lifecycle.HookOutput:
        """Say what the turn before changed, and look at what this one is about to."""
        now = {path: _text(path) for path in _seen}
        found = artifact(_session[0] if _session else "", _seen, now)
        _seen.clear()
        for path in destinations(event.output or ""):
            _seen[path] = _text(path)
        return NOTHING if found is None else lifecycle.HookOutput_Artifact(found)


def _text(path: str) -> str | None:
    """A file's text; None for one that is not there or cannot be shown."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return None
    if len(data) > LARGEST:
        return f"({path} is larger than {LARGEST} bytes)"
    return data.decode("utf-8", "replace")
