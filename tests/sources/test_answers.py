"""What a source answers, and what an install makes of it: limits, troubles, tokens, redirects."""

import contextlib
import hashlib
import io
import json
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.config import Source
from murmur.core.diagnostics import MurmurError, render
from murmur.store import transport
from murmur.store.fetching import Fetcher
from murmur.store.github import GitHub
from murmur.store.names import FullName
from murmur.store.ready import Ready, owner_check
from murmur.store.references import Pinned
from murmur.store.sources import Sources
from murmur.store.stores import Store
from murmur.store.transport import Transfer, Unanswered, Web

from .archives import wasm
from .github_server import GitHubServer, Handler, Trouble, answers, breaks_off

ITEM = Pinned(FullName("ana/tool-git"), "1.0.0")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAUSES_S", (0.0, 0.0))


@pytest.fixture
def fetch(github: GitHubServer, tmp_path: Path) -> Callable[..., list[Ready]]:
    """Plans and fetches as an install does, from the source `ana/tools`."""

    def run(*items: Pinned, token: str | None = None, **environ: str) -> list[Ready]:
        environ = {"MUR_GITHUB_API_BASE": github.base} | environ
        sources = Sources([Source("ana", "Ana/tools", token)], environ)
        machine = Store(tmp_path / "artifacts", "global")
        fetcher = Fetcher(lambda: sources, machine, owner_check(None))
        plans = []
        for plan in fetcher.plan(items or (ITEM,)):
            if isinstance(plan, MurmurError):
                raise plan
            plans.append(plan)
        return fetcher.fetch(plans)

    return run


Fetch = Callable[..., list[Ready]]


def refused(code: str, fetch: Fetch, *items: Pinned, **options: str) -> MurmurError:
    with pytest.raises(MurmurError) as refusal:
        fetch(*items, **options)
    assert refusal.value.code == code, render(refusal.value.diagnostic)
    return refusal.value


# --- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "line"),
    [
        (answers(429, "slow down"), "rate limited (HTTP 429)"),
        (answers(429, retry_after="17"), "rate limited (HTTP 429); try again in 17 seconds"),
        (
            answers(403, x_ratelimit_remaining="0", x_ratelimit_reset="1900000000"),
            "rate limited (HTTP 403, x-ratelimit-remaining: 0); it resets at 2030-03-17T17:46:40Z",
        ),
        (
            answers(403, retry_after="60"),
            "rate limited (HTTP 403, retry-after header); try again in 60 seconds",
        ),
        (
            answers(403, "You have exceeded a secondary rate limit"),
            "rate limited (HTTP 403, You have exceeded a secondary rate limit)",
        ),
        (answers(403, "Forbidden"), "HTTP 403 (Forbidden)"),
        (answers(401, "Bad credentials"), "HTTP 401 (Bad credentials)"),
    ],
)
def test_a_limit_or_refusal_is_e_reg_006_with_one_line_and_a_hint_at_tokens(
    github: GitHubServer, fetch: Fetch, trouble: Trouble, line: str
) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git"))
    github.trouble("/releases/latest", trouble)
    refusal = refused("E-REG-006", fetch)
    assert refusal.diagnostic.details == (f"github:Ana/tools: {line}",)
    assert "GITHUB_TOKEN" in refusal.hint and "ana/tool-git@1.0.0" in refusal.message
    assert len(github.asked) == 1  # asking again would not help


# --- troubles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/releases/latest", "/releases/tags", "/Ana/tools$", "/blob/"])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_in_trouble_is_asked_again(
    github: GitHubServer, fetch: Fetch, path: str, status: int
) -> None:
    asset = wasm("tool-git")
    github.publish("Ana/tools", "v1", asset)
    github.trouble(path, answers(status), times=2)
    assert fetch()[0].payload.sha256 == hashlib.sha256(asset[1]).hexdigest()


def test_a_server_that_stays_in_trouble_is_e_reg_006(github: GitHubServer, fetch: Fetch) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git"))
    github.trouble("/releases/latest", answers(503, "no time"))
    refusal = refused("E-REG-006", fetch)
    assert refusal.diagnostic.details == ("github:Ana/tools: HTTP 503 (no time)",)
    assert len(github.asked) == transport.ATTEMPTS


def test_a_server_that_cannot_be_reached_is_e_reg_006(github: GitHubServer, fetch: Fetch) -> None:
    refusal = refused("E-REG-006", fetch, MUR_GITHUB_API_BASE="http://127.0.0.1:1")
    assert "github:Ana/tools: it cannot be reached: " in refusal.diagnostic.details[0]


@pytest.mark.parametrize(
    "base", ["ftp://127.0.0.1", "http://example.com", "file:///etc", "x", "https://a b", "http://["]
)
def test_an_api_base_that_is_neither_https_nor_this_machine_is_never_asked(
    fetch: Fetch, base: str
) -> None:
    refusal = refused("E-REG-006", fetch, MUR_GITHUB_API_BASE=base)
    assert "MUR_GITHUB_API_BASE is " in refusal.diagnostic.details[0]


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"tag_name": "v1", "assets": [{"id": "x", "name": "y"}]}',
        b'{"tag_name": "v1", "assets": [{"id": -1, "name": "y"}]}',
        b'{"tag_name": "v1", "assets": []}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_not_githubs_is_e_reg_006(
    github: GitHubServer, fetch: Fetch, body: bytes
) -> None:
    def trouble(handler: Handler) -> bool:
        handler.send(200, body)
        return True

    github.trouble("/releases/latest", trouble)
    refused("E-REG-006", fetch)


def test_an_answer_without_end_is_cut_off(
    github: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(handler: Handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 65536)
        except OSError:
            return True

    github.trouble("/endless", endless)
    with pytest.raises(Unanswered, match="larger than 1000000 bytes"):
        Web().read(f"{github.base}/endless", "*/*", 1_000_000)
    with pytest.raises(Unanswered, match="larger than 1000000 bytes"):
        Web().download(f"{github.base}/endless", "*/*", io.BytesIO(), 1_000_000, Transfer())


def test_an_answer_that_barely_comes_is_given_up(
    github: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drip(handler: Handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b".")
                time.sleep(0.02)
        except OSError:
            return True

    monkeypatch.setattr(transport, "_WINDOW_S", 0.2)
    github.trouble("/drip", drip)
    with pytest.raises(Unanswered, match="bytes came in"):
        Web().read(f"{github.base}/drip", "*/*", 1_000_000)


def test_an_encoded_answer_is_not_taken_for_the_file(github: GitHubServer) -> None:
    def packed(handler: Handler) -> bool:
        handler.send(200, b"x", Content_Encoding="gzip")
        return True

    github.trouble("/packed", packed)
    with pytest.raises(Unanswered, match="encoded as gzip"):
        Web().read(f"{github.base}/packed", "*/*", 100)


# --- downloads ---------------------------------------------------------------------------------


def test_a_broken_download_goes_on_where_it_stopped(github: GitHubServer, fetch: Fetch) -> None:
    asset = wasm("tool-git", padding=bytes(range(256)) * 40)
    github.publish("Ana/tools", "v1", asset)
    github.trouble("/blob/.*/100", breaks_off(100), times=2)
    assert fetch()[0].payload.sha256 == hashlib.sha256(asset[1]).hexdigest()
    ranges = [each.headers.get("range") for each in github.asked if each.path.startswith("/blob")]
    assert ranges == [None, None, "bytes=100-", "bytes=200-"]  # the index first


def test_a_download_begins_again_where_the_server_cannot_show_that_it_is_the_same_file(
    github: GitHubServer,
) -> None:
    data = bytes(range(256)) * 100

    def plain(handler: Handler) -> bool:
        handler.send(200, data, ETag='W/"weak"')
        return True

    def other(handler: Handler) -> bool:
        span = f"bytes 7-{len(data) - 1}/{len(data)}"
        handler.send(206, data[7:], ETag='"x"', Content_Range=span)
        return True

    def strong(handler: Handler) -> bool:
        handler.send(200, data, ETag='"x"')
        return True

    def gone(handler: Handler) -> bool:
        handler.send(416)
        return True

    def whole(handler: Handler) -> bool:
        assert "Range" not in handler.headers
        return plain(handler)

    turns = ([plain, plain], [strong, other, plain], [strong, gone, whole])
    for number, pieces in enumerate(turns):
        left: list[Trouble] = list(pieces)

        def serve(handler: Handler, left: list[Trouble] = left, whole: int = len(left)) -> bool:
            if len(left) == whole:
                breaks_off(1000)(handler)
            return left.pop(0)(handler)

        github.trouble(f"/file{number}", serve)
        sink = io.BytesIO()
        found = Web().download(f"{github.base}/file{number}", "*/*", sink, 1 << 20, Transfer())
        assert sink.getvalue() == data and found == hashlib.sha256(data).hexdigest()
        assert left == []


def test_a_download_that_comes_forward_may_break_off_often(
    github: GitHubServer, fetch: Fetch
) -> None:
    asset = wasm("tool-git", padding=random.Random(1).randbytes(9 << 20))
    github.publish("Ana/tools", "v1", asset)
    github.trouble("/blob/.*/100", breaks_off(1200 << 10), times=7)
    assert fetch()[0].payload.sha256 == hashlib.sha256(asset[1]).hexdigest()


def test_a_download_that_always_breaks_is_e_reg_006(github: GitHubServer, fetch: Fetch) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git", padding=bytes(range(256)) * 40))
    github.trouble("/blob/.*/100", breaks_off(10))
    details = refused("E-REG-006", fetch).diagnostic.details
    assert "the connection closed after " in details[0]


def test_downloads_run_at_the_same_time(github: GitHubServer, fetch: Fetch) -> None:
    names = [f"tool-{letter}" for letter in "abcd"]
    github.publish("Ana/tools", "v1", *map(wasm, names))
    together = threading.Barrier(4)

    def meet(handler: Handler) -> bool:
        together.wait(20)
        return False

    github.trouble("/blob/.*/10[0-3]", meet)
    ready = fetch(*(Pinned(FullName(f"ana/{name}"), "1.0.0") for name in names))
    assert [each.payload.manifest.name for each in ready] == names


def test_the_first_failure_stops_the_other_downloads(github: GitHubServer, fetch: Fetch) -> None:
    held = github.publish("Ana/tools", "v1", wasm("tool-a"), wasm("tool-b"))
    held.releases["v1"]["tool-b-1.0.0.mur.zip"] = b"tampered"

    def drip(handler: Handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(1000):
                handler.wfile.write(b"." * 100)
                time.sleep(0.05)
        except OSError:
            pass
        return True

    github.trouble("/blob/.*/100", drip)
    began = time.monotonic()
    items = [Pinned(FullName(f"ana/tool-{letter}"), "1.0.0") for letter in "ab"]
    refused("E-REG-002", fetch, *items)
    assert time.monotonic() - began < 10


def test_one_release_is_asked_for_once_however_many_artifacts_it_holds(
    github: GitHubServer, fetch: Fetch
) -> None:
    names = [f"tool-{number}" for number in range(12)]
    github.publish("Ana/tools", "v1", *map(wasm, names))
    fetch(*(Pinned(FullName(f"ana/{name}"), "1.0.0") for name in names))
    metadata = [path for path in github.paths("api") if "/assets/" not in path]
    assert sorted(metadata) == [
        "/api/repos/Ana/tools",
        "/api/repos/Ana/tools/releases/latest",
        "/api/repos/Ana/tools/releases/tags/v1",
    ]


# --- headers and tokens ------------------------------------------------------------------------


def test_requests_name_their_agent_and_what_they_accept(github: GitHubServer, fetch: Fetch) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git"))
    fetch()
    for asked in github.asked:
        assert asked.headers["user-agent"] == "murmur-cli"
        assert "authorization" not in asked.headers
        bytes_wanted = "/assets/" in asked.path or asked.server == "storage"
        kind = "application/octet-stream" if bytes_wanted else "application/vnd.github+json"
        assert asked.headers["accept"] == kind


@pytest.mark.parametrize(
    ("token", "environ"),
    [("${MINE}", {"MINE": "t0ken"}), ("t0ken", {}), (None, {"GITHUB_TOKEN": "t0ken"})],
)
def test_a_token_opens_a_private_repository_and_never_reaches_another_host(
    github: GitHubServer, fetch: Fetch, token: str | None, environ: dict[str, str]
) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git")).token = "t0ken"
    refusal = refused("E-REG-001", fetch)
    assert "GITHUB_TOKEN" in refusal.hint
    github.asked.clear()
    fetch(token=token, **environ)
    sent = {each.server: each.headers.get("authorization") for each in github.asked}
    assert sent == {"api": "Bearer t0ken", "storage": None}


def test_a_redirect_within_the_api_keeps_the_token(github: GitHubServer, fetch: Fetch) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git")).token = "t0ken"
    github.publish("ana/renamed", "v1", wasm("tool-git")).token = "t0ken"

    def renamed(handler: Handler) -> bool:
        handler.send(301, Location=handler.path.replace("Ana/tools", "ana/renamed"))
        return True

    github.trouble("/repos/Ana/tools", renamed)
    assert fetch(token="t0ken")[0].reference == "ana/tool-git@1.0.0"


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "http://example.com/x",
        "http://[",
        "//",
        "http://",
    ],
)
def test_a_redirect_to_anything_but_https_or_this_machine_is_refused(
    github: GitHubServer, fetch: Fetch, location: str
) -> None:
    github.publish("Ana/tools", "v1", wasm("tool-git"))

    def away(handler: Handler) -> bool:
        handler.send(302, Location=location)
        return True

    github.trouble("/releases/assets/", away)
    refused("E-REG-006", fetch)


def test_a_circle_of_redirects_ends(github: GitHubServer, fetch: Fetch) -> None:
    def circle(handler: Handler) -> bool:
        handler.send(302, Location=handler.path)
        return True

    github.trouble("/releases/latest", circle)
    refused("E-REG-006", fetch)


def test_a_token_that_is_echoed_is_not_shown(github: GitHubServer, fetch: Fetch) -> None:
    github.trouble("/releases/latest", answers(401, "no such token: t0ken-secret"))
    refusal = refused("E-REG-006", fetch, token="t0ken-secret")
    assert "t0ken-secret" not in render(refusal.diagnostic)
    assert "[token]" in refusal.diagnostic.details[0]


def test_what_a_server_says_cannot_steer_the_terminal(github: GitHubServer, fetch: Fetch) -> None:
    github.trouble("/releases/latest", answers(400, "\x1b[2Jgone\r\n"))
    assert "\x1b" not in render(refused("E-REG-006", fetch).diagnostic)


# --- anything at all ---------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tag_name", "assets", "id", "name", "size", "digest", "owner"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(_JSON)
def test_whatever_json_the_api_answers_is_taken_or_refused(value: object) -> None:
    source = GitHub("ana/tools", None, "http://127.0.0.1:1")

    class Answering(Web):
        def read(self, url: str, accept: str, limit: int) -> bytes:
            return json.dumps(value).encode()

    source._web = Answering()
    for ask in (source.latest, source.owner_id, lambda: source.release("v1")):
        with contextlib.suppress(Unanswered):
            ask()


@pytest.mark.parametrize("seed", range(25))
def test_whatever_goes_wrong_an_install_gets_the_published_bytes_or_a_refusal(
    github: GitHubServer, fetch: Fetch, seed: int
) -> None:
    chance = random.Random(seed)
    assets = [wasm(f"tool-{n}", padding=chance.randbytes(3000)) for n in range(4)]
    github.publish("Ana/tools", "v1", *assets)

    def nothing(handler: Handler) -> bool:
        handler.close_connection = True
        handler.connection.close()
        return True

    def other(handler: Handler) -> bool:
        handler.send(200, b"other bytes", ETag='"y"')
        return True

    troubles = [
        answers(500),
        answers(503),
        answers(429, retry_after="9"),
        answers(404),
        breaks_off(chance.randrange(2000)),
        nothing,
        other,
    ]
    for _ in range(chance.randrange(1, 5)):
        path = chance.choice(["/latest", "/tags", "/assets/", "/blob/", "/tools$", "/10[0-4]"])
        github.trouble(path, chance.choice(troubles), times=chance.randrange(1, 4))
    items = [Pinned(FullName(f"ana/tool-{n}"), "1.0.0") for n in range(4)]
    try:
        ready = fetch(*items)
    except MurmurError as refusal:
        assert refusal.code in {"E-REG-001", "E-REG-002", "E-REG-006", "E-IDX-002"}
        return
    found = [each.payload.sha256 for each in ready]
    assert found == [hashlib.sha256(data).hexdigest() for _, data in assets]
