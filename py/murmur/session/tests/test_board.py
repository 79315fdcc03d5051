"""The board: routing, room, lanes, cancelling and what watchers see. spec/door.md 10 to 16."""

import threading
import time
from collections.abc import Callable

import pytest

from murmur.core.tasks import (
    Acceptance,
    Caller,
    ContextMismatch,
    Event,
    GapFrame,
    LaggedFrame,
    Origin,
    StatusFrame,
    Submission,
    Task,
    TaskNotOpen,
    TaskState,
    TextFrame,
    Trust,
    UnknownTask,
)
from murmur.session import board as board_module
from murmur.session.board import BUSY, CANCELED, CANCELED_QUEUED, CLOSING, ENDED_KEPT, Board
from murmur.session.event_log import LIVE_BYTES, LIVE_FRAMES, REPLAY_BYTES, REPLAY_FRAMES


def message(
    text: str = "hi",
    *,
    origin: Origin = Origin.EVENT,
    task_id: str | None = None,
    context_id: str | None = None,
) -> Submission:
    return Submission(
        text=text,
        message_id="m",
        origin=origin,
        trust=Trust.UNTRUSTED,
        caller=Caller("public"),
        task_id=task_id,
        context_id=context_id,
    )


def silent() -> None:
    """A watcher that polls needs no waking."""


def running(board: Board) -> Task:
    task = board.take(0)
    assert task is not None
    assert board.start(task)
    return board.get(task.id)


def statuses(events: tuple[Event, ...]) -> list[tuple[TaskState, str]]:
    return [
        (event.frame.state, event.frame.text)
        for event in events
        if isinstance(event.frame, StatusFrame)
    ]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_message_with_no_task_is_a_new_submitted_task_with_a_context() -> None:
    board = Board(Acceptance.QUEUE)
    task = board.accept(message()).task
    assert task.state is TaskState.SUBMITTED
    assert task.id.startswith("tsk_") and task.context_id.startswith("ctx_")
    assert board.get(task.id) == task
    other = Board(Acceptance.SINGLE).accept(message(context_id="their own")).task
    assert other.context_id == "their own"


def test_queue_depth_counts_the_tasks_that_have_not_started() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=2)
    board.accept(message())
    running(board)
    assert [board.accept(message()).task.status_text for _ in range(3)] == [None, None, BUSY]


def test_the_session_s_own_tasks_take_no_room_from_messages() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=1)
    board.submit_local("launch")
    assert board.accept(message()).task.state is TaskState.SUBMITTED


def test_single_takes_one_task_ever() -> None:
    board = Board(Acceptance.SINGLE)
    board.accept(message())
    assert board.accept(message()).task.status_text == BUSY
    task = running(board)
    board.finish(task.id, TaskState.COMPLETED, "session ended")
    assert board.accept(message()).task.status_text == CLOSING
    launched = Board(Acceptance.SINGLE)
    launched.submit_local("launch")
    assert launched.accept(message()).task.status_text == BUSY


def test_lanes_go_by_urgency_and_each_keeps_its_order() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=9)
    origins = (Origin.EVENT, Origin.PEER, Origin.EVENT, Origin.PEER)
    texts = [board.accept(message(str(n), origin=o)).task.text for n, o in enumerate(origins)]
    board.submit_local("user")
    board.submit_local("done", Origin.COMPLETION)
    assert texts == ["0", "1", "2", "3"]
    order = []
    for _ in range(6):
        task = running(board)
        order.append(task.text)
        board.finish(task.id, TaskState.COMPLETED, "session ended")
    assert order == ["user", "1", "3", "0", "2", "done"]


def test_one_task_runs_at_a_time_and_a_cancelled_one_until_its_worker_lets_go() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=2)
    board.accept(message())
    board.accept(message("next"))
    task = running(board)
    assert board.take(0) is None
    board.cancel(task.id)
    assert board.take(0) is None
    assert not board.finish(task.id, TaskState.CANCELED, CANCELED)
    assert running(board).text == "next"


def test_take_waits_for_a_message_and_no_longer_than_asked() -> None:
    board = Board(Acceptance.QUEUE)
    began = time.monotonic()
    assert board.take(0.05) is None
    assert 0.04 < time.monotonic() - began < 5
    taken: list[Task | None] = []
    worker = threading.Thread(target=lambda: taken.append(board.take()))
    worker.start()
    task = board.accept(message()).task
    worker.join(10)
    assert taken == [task]


def test_a_closing_board_starts_nothing_and_rejects_messages() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=2)
    board.accept(message())
    taken: list[Task | None] = []
    board.stop_accepting()
    worker = threading.Thread(target=lambda: taken.append(board.take()))
    worker.start()
    worker.join(10)
    assert taken == [None]
    assert board.accept(message()).task.status_text == CLOSING


def test_a_session_that_ends_on_its_own_rejects_what_is_queued() -> None:
    told: list[Task] = []
    board = Board(Acceptance.QUEUE, queue_depth=2, on_never_started=told.append)
    accepted = board.accept(message(), silent)
    board.stop_accepting()
    (rejected,) = board.reject_queued()
    assert (rejected.state, rejected.status_text) == (TaskState.REJECTED, CLOSING)
    assert told == [rejected]
    assert accepted.watch is not None
    (event,) = accepted.watch.take()
    assert event.final and event.id is None


@pytest.mark.parametrize("taken", [False, True])
def test_a_task_cancelled_before_it_started_never_runs(taken: bool) -> None:
    told: list[Task] = []
    board = Board(Acceptance.QUEUE, on_never_started=told.append)
    task = board.accept(message()).task
    if taken:
        assert board.take(0) == task
    report = board.cancel(task.id)
    assert (report.task.state, report.task.status_text) == (TaskState.CANCELED, CANCELED_QUEUED)
    assert told == [report.task]
    if taken:
        assert not board.start(task)
    else:
        assert board.take(0) is None
    board.accept(message("next"))
    assert running(board).text == "next"


def test_a_running_task_is_cancelled_at_once_and_its_worker_is_told() -> None:
    told: list[Task] = []
    board = Board(Acceptance.QUEUE, on_never_started=told.append)
    watch = board.accept(message(), silent).watch
    task = running(board)
    flag = board.cancelled(task.id)
    board.set_residue(task.id, ({"kind": "delegation"},))
    report = board.cancel(task.id)
    assert flag.is_set()
    assert report.residue == ({"kind": "delegation"},)
    assert report.task.status_text == CANCELED
    board.frame(task.id, TextFrame("too late"))
    assert not board.finish(task.id, TaskState.COMPLETED, "session ended", response="too late")
    assert board.get(task.id) == report.task
    assert watch is not None
    assert statuses(watch.take()) == [(TaskState.CANCELED, CANCELED)]
    assert told == []
    with pytest.raises(TaskNotOpen) as refused:
        board.cancel(task.id)
    assert refused.value.task == report.task


def test_stopping_cancels_everything_held_and_a_second_stop_nothing() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=3)
    ids = sorted(board.accept(message()).task.id for _ in range(3))
    running(board)
    assert board.cancel_all().canceled == tuple(ids)
    assert board.cancel_all().canceled == ()


def test_a_reply_reaches_the_task_that_waits_for_it_and_takes_no_room() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=1)
    watch = board.accept(message(context_id="c"), silent).watch
    task = running(board)
    board.accept(message("fills the queue"))
    replies: list[str | None] = []
    worker = threading.Thread(
        target=lambda: replies.append(board.request_input(task.id, "which?", 10))
    )
    worker.start()
    until(lambda: board.get(task.id).state is TaskState.INPUT_REQUIRED)
    assert board.get(task.id).prompt == "which?"
    with pytest.raises(ContextMismatch):
        board.accept(message(task_id=task.id, context_id="other"))
    assert board.accept(message("that one", task_id=task.id)).task.state is TaskState.WORKING
    worker.join(10)
    assert replies == ["that one"]
    assert watch is not None
    assert statuses(watch.take()) == [
        (TaskState.INPUT_REQUIRED, "which?"),
        (TaskState.WORKING, "resumed"),
    ]


def test_input_that_does_not_come_in_time_is_none_and_a_late_reply_is_refused() -> None:
    board = Board(Acceptance.QUEUE)
    board.accept(message())
    task = running(board)
    assert board.request_input(task.id, "which?", 0.02) is None
    with pytest.raises(TaskNotOpen):
        board.accept(message(task_id=task.id))


def test_a_cancel_releases_a_task_that_waits_for_input() -> None:
    board = Board(Acceptance.QUEUE)
    board.accept(message())
    task = running(board)
    replies: list[str | None] = []
    worker = threading.Thread(
        target=lambda: replies.append(board.request_input(task.id, "which?", None))
    )
    worker.start()
    until(lambda: board.get(task.id).state is TaskState.INPUT_REQUIRED)
    board.cancel(task.id)
    worker.join(10)
    assert replies == [None]
    assert board.cancelled(task.id).is_set()


def test_a_message_for_a_task_that_does_not_wait_is_refused_with_its_state() -> None:
    board = Board(Acceptance.QUEUE)
    task = board.accept(message()).task
    for state in (TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED):
        if state is TaskState.WORKING:
            running(board)
        elif state is TaskState.COMPLETED:
            board.finish(task.id, state, "session ended")
        with pytest.raises(TaskNotOpen) as refused:
            board.accept(message(task_id=task.id))
        assert refused.value.task.state is state
    with pytest.raises(UnknownTask):
        board.accept(message(task_id="tsk_x"))


def test_tasks_come_most_recently_changed_first() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=3)
    first, second = board.accept(message()).task, board.accept(message()).task
    assert [task.id for task in board.tasks()] == [second.id, first.id]
    running(board)
    assert [task.id for task in board.tasks()] == [first.id, second.id]


def test_a_flood_of_refused_messages_does_not_fill_the_board() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=0)
    ids = [board.accept(message()).task.id for _ in range(300)]
    assert len(board.tasks()) == 256
    assert board.get(ids[-1]).status_text == BUSY


def test_numbers_ascend_over_all_tasks_and_a_watch_of_one_sees_only_its_own() -> None:
    board = Board(Acceptance.QUEUE, queue_depth=2)
    everything = board.watch(None, silent)
    first = board.accept(message(), silent)
    second = board.accept(message(), silent)
    for accepted in (first, second):
        task = running(board)
        board.frame(task.id, TextFrame("a"))
        board.finish(task.id, TaskState.COMPLETED, "session ended", response="a")
        assert task.id == accepted.task.id
    assert first.watch is not None and second.watch is not None
    assert [event.id for event in first.watch.take()] == [1, 2]
    assert [event.id for event in second.watch.take()] == [3, 4]
    assert [event.id for event in everything.take()] == [1, 2, 3, 4]


def write(board: Board, count: int) -> Task:
    task = board.submit_local("x")
    assert board.take(0) == task and board.start(task)
    for number in range(count):
        board.frame(task.id, TextFrame(str(number)))
    return board.get(task.id)


@pytest.mark.parametrize(
    ("after", "gap", "first"), [(0, True, 11), (9, True, 11), (10, False, 11), (500, False, 501)]
)
def test_what_the_buffer_no_longer_holds_is_a_gap(after: int, gap: bool, first: int) -> None:
    board = Board(Acceptance.NONE)
    task = write(board, REPLAY_FRAMES + 10)
    for followed in (None, task.id):
        events = board.watch(followed, silent, after).take()
        if gap:
            assert events[0].frame == GapFrame(11)
            assert events[0].id is None
            assert events[0].task_id == followed
            events = events[1:]
        assert events[0].id == first
        assert events[-1].id == REPLAY_FRAMES + 10


def test_an_empty_buffer_replays_nothing_and_a_number_never_issued_is_a_gap() -> None:
    board = Board(Acceptance.NONE)
    assert board.watch(None, silent, 5).take() == ()
    write(board, 2)
    assert board.watch(None, silent, 2).take() == ()
    events = board.watch(None, silent, 3).take()
    assert [event.frame for event in events] == [GapFrame(1), TextFrame("0"), TextFrame("1")]


def test_a_watch_that_reads_too_slowly_loses_the_oldest_and_is_told_how_many() -> None:
    board = Board(Acceptance.NONE)
    watch = board.watch(None, silent)
    write(board, LIVE_FRAMES + 3)
    lagged, *rest = watch.take()
    assert lagged.frame == LaggedFrame(3)
    assert lagged.id is None
    assert [event.id for event in rest] == list(range(4, LIVE_FRAMES + 4))
    assert watch.take() == ()


def test_closing_ends_every_watch_and_wakes_it() -> None:
    board = Board(Acceptance.QUEUE)
    rung = threading.Event()
    watch = board.watch(None, rung.set)
    board.close()
    assert watch.closed and rung.is_set()
    assert board.watch(None, silent).closed


def test_a_closed_watch_is_rung_no_more() -> None:
    board = Board(Acceptance.QUEUE)
    rung = threading.Event()
    watch = board.watch(None, rung.set)
    watch.close()
    write(board, 1)
    assert not rung.is_set()


def test_whoever_ends_a_task_first_there_is_one_final_status_and_no_frame_after_it() -> None:
    for _ in range(100):
        board = Board(Acceptance.QUEUE)
        watch = board.accept(message(), silent).watch
        task = running(board)
        start = threading.Barrier(3)

        def work(board: Board = board, task: Task = task, start: threading.Barrier = start) -> None:
            start.wait()
            board.frame(task.id, TextFrame("almost"))
            board.finish(task.id, TaskState.COMPLETED, "session ended", response="done")

        def cancel(
            board: Board = board, task: Task = task, start: threading.Barrier = start
        ) -> None:
            start.wait()
            try:
                board.cancel(task.id)
            except TaskNotOpen:
                pass

        threads = [threading.Thread(target=work), threading.Thread(target=cancel)]
        for thread in threads:
            thread.start()
        start.wait()
        for thread in threads:
            thread.join(10)
        assert watch is not None
        events = watch.take()
        assert [event.final for event in events].count(True) == 1
        assert events[-1].final
        last = events[-1].frame
        assert isinstance(last, StatusFrame) and last.state is board.get(task.id).state


def ended(board: Board, text: str = "x", response: str = "") -> Task:
    task = board.submit_local(text)
    assert board.take(0) is not None and board.start(task)
    board.finish(task.id, TaskState.COMPLETED, "session ended", response=response)
    return task


def test_a_session_of_many_tasks_keeps_the_newest_that_ended() -> None:
    board = Board(Acceptance.QUEUE)
    first, second = ended(board), ended(board)
    for _ in range(ENDED_KEPT - 1):
        ended(board)
    with pytest.raises(UnknownTask):
        board.get(first.id)
    assert board.get(second.id).state is TaskState.COMPLETED
    assert len(board.tasks()) == ENDED_KEPT


def test_long_answers_are_kept_for_fewer_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "ENDED_BYTES", 1000)
    board = Board(Acceptance.QUEUE)
    first, second = ended(board, response="y" * 900), ended(board, response="z" * 900)
    with pytest.raises(UnknownTask):
        board.get(first.id)
    assert board.get(second.id).response == "z" * 900


def test_a_cancelled_task_stays_while_its_worker_still_asks_for_it() -> None:
    board = Board(Acceptance.QUEUE)
    task = board.submit_local("x")
    running(board)
    board.cancel(task.id)
    for _ in range(ENDED_KEPT + 1):
        board.cancel(board.submit_local("y").id)
    assert board.cancelled(task.id).is_set()
    assert not board.finish(task.id, TaskState.FAILED, "late")
    ended(board)
    with pytest.raises(UnknownTask):
        board.get(task.id)


@pytest.mark.parametrize("bound", [REPLAY_BYTES, LIVE_BYTES])
def test_frames_of_whole_files_are_kept_by_their_size(bound: int) -> None:
    board = Board(Acceptance.NONE)
    watch = board.watch(None, silent)
    task = board.submit_local("x")
    assert board.take(0) == task and board.start(task)
    for _ in range(4):
        board.frame(task.id, TextFrame("x" * (bound // 2 + 1)))
    lagged, *rest = watch.take()
    assert lagged.frame == LaggedFrame(3) and [event.id for event in rest] == [4]
    assert [event.id for event in board.watch(None, silent, 3).take()] == [4]
    gap, only = board.watch(None, silent, 0).take()
    assert gap.frame == GapFrame(4) and only.id == 4


def test_the_launch_s_context_is_the_first_task_s_unless_it_brings_one() -> None:
    board = Board(Acceptance.QUEUE, 8, first_context="ctx_mine")
    assert board.accept(message(context_id="ctx_theirs")).task.context_id == "ctx_theirs"
    assert board.submit_local("x").context_id == "ctx_mine"
    assert board.submit_local("y").context_id.startswith("ctx_0")


def test_a_spared_task_is_interrupted_and_its_worker_ends_it() -> None:
    board = Board(Acceptance.QUEUE, 8)
    kept, other = board.submit_local("x"), board.submit_local("y")
    running(board)
    assert board.cancel_all(spare=kept.id).canceled == (other.id,)
    assert board.cancelled(kept.id).is_set()
    assert board.get(kept.id).state is TaskState.WORKING
    assert board.settle(kept.id)
    assert board.finish(kept.id, TaskState.COMPLETED, "session ended", response="done")
