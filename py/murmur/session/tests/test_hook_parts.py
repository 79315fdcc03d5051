"""Queues, recipes, seeds and task texts of hooks. spec/artifacts.md 15.3 to 15.6."""

import functools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from murmur.core.safefs import open_root
from murmur.guest.questions import Err, Ok
from murmur.session.hooks.queues import HookQueue, drain_all
from murmur.session.hooks.recipes import recipe_of
from murmur.session.hooks.scope import Moment
from murmur.session.hooks.seeding import Seed, seed_ceiling, size_of, weigh_seed
from murmur.session.hooks.task_io import read_task


def test_a_queue_runs_jobs_in_order_without_holding_up_who_fills_it() -> None:
    done: list[int] = []
    gate = threading.Event()
    queue = HookQueue("h", "drop")
    queue.put(lambda: gate.wait(10))
    for number in range(5):
        assert queue.put(functools.partial(done.append, number))
    assert done == []
    gate.set()
    assert queue.drain(time.monotonic() + 10) == 0
    assert done == [0, 1, 2, 3, 4]


def test_a_full_queue_drops_and_counts() -> None:
    gate = threading.Event()
    queue = HookQueue("h", "drop", depth=2)
    taken = threading.Event()

    def busy() -> None:
        taken.set()
        gate.wait(10)

    queue.put(busy)
    assert taken.wait(10)
    assert [queue.put(lambda: None) for _ in range(4)] == [True, True, False, False]
    assert queue.dropped == 2
    gate.set()
    assert queue.drain(time.monotonic() + 10) == 0


def _slowly(done: list[int], number: int) -> None:
    time.sleep(0.001)
    done.append(number)


def test_a_full_queue_that_blocks_waits_for_room_and_loses_nothing() -> None:
    done: list[int] = []
    queue = HookQueue("h", "block", depth=1)
    for number in range(20):
        queue.put(functools.partial(_slowly, done, number))
    assert queue.drain(time.monotonic() + 10) == 0
    assert done == list(range(20)) and queue.dropped == 0


def test_draining_shares_one_time_and_says_what_was_left() -> None:
    gate = threading.Event()
    stuck, quick = HookQueue("stuck", "drop"), HookQueue("quick", "drop")
    stuck.put(lambda: gate.wait(10))
    stuck.put(lambda: None)
    quick.put(lambda: None)
    began = time.monotonic()
    assert drain_all([stuck, quick], 0.2) == {"stuck": 2}
    assert time.monotonic() - began < 2
    assert stuck.put(lambda: None)  # nothing is taken any more, and that is no overflow
    assert stuck.dropped == 0
    gate.set()


FILES = {
    "Makefile": "CC := cc\nall: test\n\nbuild lint: dep\n\tcc -o app app.c\n\t@rm -f x\n"
    "\nquick: ; touch tests/a\n# end: comment\nclean::\n\trm -rf out\n",
    "justfile": "default:\n    echo hi\n\n@test arg='x':\n    pytest {{arg}}\n    touch done\n"
    "set x := 'y'\n",
    "package.json": '{"scripts": {"test": "jest --ci", "bad": 1}}',
}


@pytest.mark.parametrize(
    ("argv", "recipe"),
    [
        (["make", "build"], "cc -o app app.c\n@rm -f x"),
        (["make", "lint"], "cc -o app app.c\n@rm -f x"),
        (["/usr/bin/make", "quick"], "touch tests/a"),
        (["make", "clean", "V=1"], "rm -rf out"),
        (["make", "build", "clean"], "cc -o app app.c\n@rm -f x\nrm -rf out"),
        (["make", "all"], None),
        (["make", "missing"], None),
        (["make", "-C", "x", "build"], None),
        (["make"], None),
        (["just", "test", "a"], "pytest {{arg}}\ntouch done"),
        (["just", "set"], None),
        (["npm", "run", "test"], "jest --ci"),
        (["npm", "run", "bad"], None),
        (["npm", "install"], None),
        (["cc", "build"], None),
        ([], None),
    ],
)
def test_the_recipe_of_a_build_tool_is_found(
    tmp_path: Path, argv: list[str], recipe: str | None
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with open_root(tmp_path) as work:
        assert recipe_of(work, argv) == recipe


def test_a_recipe_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("build:\n\ttrue\n")
    (tmp_path / "Makefile").symlink_to("elsewhere")
    with open_root(tmp_path) as work:
        assert recipe_of(work, ["make", "build"]) is None


def _messages(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]


def _weigh(texts: list[str], ceiling: int, **more: Any) -> Seed:
    settings = {"budgeted": True, "margin": 0.1, "summarise": lambda messages: None, **more}
    return weigh_seed(_messages(*texts), ceiling=ceiling, **settings)


SIZE = size_of(_messages("word")[0])


def test_a_seed_that_fits_is_taken_whole() -> None:
    seed = _weigh(["word"] * 3, 3 * SIZE)
    assert (seed.outcome, len(seed.messages), seed.tokens) == ("seeded", 3, 3 * SIZE)


def test_without_an_input_budget_a_seed_is_rejected() -> None:
    seed = _weigh(["word"], 0, budgeted=False)
    assert (seed.outcome, seed.reason, seed.tokens, seed.proposed_tokens) == (
        "rejected",
        "no_budget",
        0,
        SIZE,
    )


def test_a_message_wider_than_the_ceiling_is_rejected() -> None:
    assert _weigh(["word " * 100, "word"], 50).reason == "message_over_budget"


def test_an_excess_above_three_ceilings_is_rejected() -> None:
    assert _weigh(["word"] * 5, SIZE).reason == "overflow_over_limit"
    assert _weigh(["word"] * 4, SIZE).outcome == "trimmed"


def test_a_small_excess_drops_the_oldest() -> None:
    seed = _weigh(["old", *["word"] * 20], 20 * SIZE)
    assert seed.outcome == "trimmed"
    assert [each["content"][0]["text"] for each in seed.messages] == ["word"] * 20


def test_a_larger_excess_is_summarised_summary_first() -> None:
    asked: list[int] = []

    def summarise(messages: Any) -> Any:
        asked.append(len(messages))
        return _messages("sum")

    seed = _weigh(["word"] * 8, 4 * SIZE, summarise=summarise)
    assert seed.outcome == "compacted" and asked == [4]
    texts = [each["content"][0]["text"] for each in seed.messages]
    assert texts[0] == "sum" and set(texts[1:]) == {"word"}
    assert seed.tokens <= 4 * SIZE


def test_where_nobody_summarises_the_oldest_go() -> None:
    assert _weigh(["word"] * 8, 4 * SIZE).outcome == "trimmed"
    long = _weigh(["word"] * 8, 4 * SIZE, summarise=lambda messages: _messages("word " * 90))
    assert long.outcome == "trimmed" and len(long.messages) == 4


def test_the_ceiling_is_a_share_of_the_input_budget_rounded_down() -> None:
    assert seed_ceiling(0.10, 199) == 19
    assert seed_ceiling(0.10, None) == 0


def test_task_texts_are_read_in_bytes_between_characters() -> None:
    moment = Moment(task_id="t", original="aöb", as_given="aöb and more", output="out")
    assert read_task(moment, "input-len", ["original"]) == Ok(4)
    assert read_task(moment, "input-len", ["as-given"]) == Ok(13)
    assert read_task(moment, "read-input", ["original", 0, 2]) == Ok("a")
    assert read_task(moment, "read-input", ["original", 1, 1]) == Ok("")
    assert read_task(moment, "read-input", ["original", 1, 99]) == Ok("öb")
    assert read_task(moment, "read-input", ["original", 4, 9]) == Ok("")
    assert read_task(moment, "read-input", ["original", 2, 9]) == Err("out-of-range")
    assert read_task(moment, "read-input", ["original", 5, 9]) == Err("out-of-range")
    assert read_task(moment, "output-len", []) == Ok(3)
    assert read_task(moment, "read-output", [1, 0]) == Ok("")
    assert read_task(moment, "read-output", [1, 9]) == Ok("ut")


def test_out_of_a_task_there_is_nothing_to_read() -> None:
    assert read_task(Moment(), "input-len", ["original"]) == Err("no-task")
    assert read_task(Moment(), "output-len", []) == Err("no-task")
    running = Moment(task_id="t", original="x", as_given="x")
    assert read_task(running, "output-len", []) == Err("no-output")
    assert read_task(running, "read-output", [0, 1]) == Err("no-output")
