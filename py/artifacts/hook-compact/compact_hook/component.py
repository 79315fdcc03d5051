"""The component: `on-compaction`, answered with one user message."""

from componentize_py_types import Err
from murmur_hooking.component import QuietHook, failure
from wit_world.imports import inference, lifecycle

from compact_hook.compact import SYSTEM_PROMPT, question, summary_content


class Lifecycle(QuietHook):
    """The export."""

    def on_compaction(self, event: lifecycle.CompactionEvent) -> lifecycle.HookOutput:
        """Have the conversation summarised; once more by the capsule's own model where another
        one was named and does not answer.
        """
        asked = question((message.role, message.content) for message in event.messages)
        system = event.system_prompt or SYSTEM_PROMPT
        text = ""
        problem = "the model's summary is empty"
        for model in dict.fromkeys((event.model, None)):
            try:
                text = _ask(asked, system, model).strip()
            except Err as refused:
                problem = f"the summary was not written: {refused.value}"
                continue
            if text:
                break
        if not text:
            raise failure(problem)
        message = lifecycle.Message("user", summary_content(text), None, None, None)
        return lifecycle.HookOutput_ReplaceContext([message])


def _ask(text: str, system: str, model: str | None) -> str:
    message = lifecycle.Message("user", text, None, None, None)
    request = inference.InferenceRequest([message], system, model)
    return inference.run_inference(request).text
