"""What the runtime answers a tool's questions with. spec/artifacts.md 3.

`murmur:task` waits for whoever sent the task; every other question of a tool goes where the
session serves it, or is answered as unserved.
"""

from murmur.guest.client import Ask
from murmur.guest.questions import TASK_INTERFACE, Answer, Answering, Question, Value, unserved


def tool_answering(ask: Ask | None) -> Answering:
    """The answers to a tool called during an attempt at a task; `ask` None is no task."""

    def answer(question: Question) -> Answer:
        if question.interface == TASK_INTERFACE and ask is not None:
            (prompt,) = question.arguments
            return Value(ask(prompt))
        return unserved(question)

    return answer
