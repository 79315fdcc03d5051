"""What commands reach of the world, asked on the real kernel. spec/containment.md 17."""

import socket
import sys
from pathlib import Path

import pytest

from murmur.sandbox.egress.name_service import resolv_conf
from murmur.sandbox.probe import HostReading

from .conftest import Opener
from .online import PYTHON, Online, echo, python, said
from .outside import ALSO_PUBLIC, PUBLIC, Outside, serving

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")


def test_a_listed_name_and_port_work_from_end_to_end(world: Outside, online: Online) -> None:
    world.names.table["api.example.com"] = [PUBLIC]
    with serving(echo) as server:
        world.dials.servers[443] = server.port
        session = online(["https://api.example.com"])
        done = python(
            session,
            "c = socket.create_connection(('API.example.com.', 443), 10)",
            "print(c.getpeername()); c.sendall(b'hello'); print(c.recv(99))",
            "c.shutdown(socket.SHUT_WR); print(c.recv(1))",
        )
    assert said(done) == [f"('{PUBLIC}', 443)", "b'hello'", "b''"]
    assert world.dials.seen == [f"{PUBLIC}:443"], "what was dialled is the very address"


def test_what_is_not_listed_fails_as_documented(world: Outside, online: Online) -> None:
    world.names.table["api.example.com"] = [PUBLIC]
    world.names.table["other.example.com"] = [ALSO_PUBLIC]
    with serving(echo) as server:
        world.dials.servers[443] = world.dials.servers[80] = server.port
        session = online(["https://api.example.com", "gone.example.com:443"])
        done = python(
            session,
            "t = lambda a, f=socket.AF_INET: lambda: "
            "[c := socket.socket(f), c.settimeout(5), c.connect(a), c.recv(9)][3]",
            f"show(t(('{PUBLIC}', 80)))",
            f"show(t(('{PUBLIC}', 22)))",
            f"show(t(('{ALSO_PUBLIC}', 443)))",
            f"show(t(('127.0.0.1', {server.port})))",
            "show(t(('2606:4700::1', 443), socket.AF_INET6))",
            "show(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
            "show(lambda: socket.getaddrinfo('other.example.com', 443))",
            "show(lambda: socket.getaddrinfo('sub.api.example.com', 443))",
            "show(lambda: socket.getaddrinfo('gone.example.com', 443))",
        )
    assert said(done) == [
        "ECONNREFUSED",
        "ECONNREFUSED",
        "ok b''",
        "ECONNREFUSED",
        "ENETUNREACH",
        "EPERM",
        "gai AGAIN",
        "gai AGAIN",
        "gai NONAME",
    ]
    assert world.dials.seen == []
    assert set(world.names.asked) == {"api.example.com", "gone.example.com"}


def test_datagrams_go_nowhere(world: Outside, online: Online) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(0.2)
        port = receiver.getsockname()[1]
        done = python(
            online(["127.0.0.1:443"]),
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            f"print(s.sendto(b'out', ('127.0.0.1', {port})), s.sendto(b'out', ('8.8.8.8', 4433)))",
        )
        assert said(done) == ["3 3"]
        with pytest.raises(TimeoutError):
            receiver.recv(9)


def test_with_an_empty_list_nothing_is_reached_and_no_name_known(
    world: Outside, online: Online
) -> None:
    done = python(
        online([]),
        "show(lambda: socket.getaddrinfo('api.example.com', 443))",
        "show(lambda: socket.create_connection(('1.1.1.1', 443), 5))",
    )
    assert said(done) == ["gai AGAIN", "ECONNREFUSED"]
    assert world.names.asked == []


ASK = (
    "def ask(packet, server='9.9.9.9'):",
    "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)",
    "    s.sendto(packet, (server, 53)); d, f = s.recvfrom(4096)",
    "    print(f[0], 'code', d[3] & 15, 'answers', d[7], d[-14:].hex() if d[7] else '')",
    "def q(name, kind=1, klass=1, count=1, rest=b''):",
    "    n = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0'",
    "    head = struct.pack('!6H', 7, 0x100, count, 0, 0, 0)",
    "    return head + (n + struct.pack('!2H', kind, klass)) * count + rest",
)


def test_every_query_is_answered_by_the_table_and_from_the_address_asked(
    world: Outside, online: Online
) -> None:
    world.names.table.update(
        {
            "api.example.com": [f"{PUBLIC} 2606:4700::1"],
            "mute.example.com": ["silent"],
        }
    )
    done = python(
        online(["api.example.com", "mute.example.com", "no.example.com", "1.2.3.4"]),
        *ASK,
        "ask(q('api.example.com'))",
        "ask(q('api.example.com', 28), '203.0.113.9')",
        "ask(q('api.example.com', 16), '127.0.0.53')",
        "ask(q('api.example.com', 1, 3))",
        "ask(q('no.example.com'))",
        "ask(q('mute.example.com'))",
        "ask(q('1.2.3.4'))",
        "ask(q('x.example.com'))",
        "ask(q('api.example.com', count=2))",
        "ask(q('api.example.com')[:-1])",
        "ask(q('api.example.com', rest=bytes(5000)))",
        "ask(q('api.example.com') + b'\\0' + struct.pack('!2HIH', 41, 1232, 0, 0))",
    )
    ttl, four = "0000003c", socket.inet_aton(PUBLIC).hex()
    lines = said(done)
    assert lines[0] == f"9.9.9.9 code 0 answers 1 0001{'0001'}{ttl}0004{four}"
    assert lines[1].startswith("203.0.113.9 code 0 answers 1 ")
    assert lines[2:] == [
        "127.0.0.53 code 0 answers 0 ",
        "9.9.9.9 code 0 answers 0 ",
        "9.9.9.9 code 3 answers 0 ",
        "9.9.9.9 code 2 answers 0 ",
        "9.9.9.9 code 5 answers 0 ",
        "9.9.9.9 code 5 answers 0 ",
        "9.9.9.9 code 1 answers 0 ",
        "9.9.9.9 code 1 answers 0 ",
        "9.9.9.9 code 1 answers 0 ",
        f"9.9.9.9 code 0 answers 1 0001{'0001'}{ttl}0004{four}",
    ]


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0"])
def test_a_listed_name_that_comes_to_lead_inside_is_not_followed(
    world: Outside, online: Online, inside: str
) -> None:
    """DNS rebinding: at launch and first the name is public, then an address of this network."""
    world.names.table["evil.example.com"] = [PUBLIC, PUBLIC, inside]
    with serving(echo) as server:
        world.dials.servers[80] = server.port
        done = python(
            online(["http://evil.example.com"]),
            "def get():",
            "    a = socket.getaddrinfo('evil.example.com', 80, socket.AF_INET)[0][4]",
            "    c = socket.create_connection(a, 5); c.sendall(b'x'); return a[0], c.recv(1)",
            "show(get)",
            "show(get)",
        )
    first, second = said(done)
    assert first == f"ok ('{PUBLIC}', b'x')"
    assert second in (f"ok ('{inside}', b'')", "ECONNRESET")
    assert world.dials.seen == [f"{PUBLIC}:80"]


def test_an_inner_address_that_is_listed_itself_is_reached(world: Outside, online: Online) -> None:
    world.names.table["git.corp.example.com"] = ["10.1.2.3"]
    with serving(echo) as server:
        world.dials.servers[8443] = world.dials.servers[9443] = server.port
        done = python(
            online(["git.corp.example.com:8443", "10.1.2.3:8443", "git.corp.example.com:9443"]),
            "def get(where):",
            "    c = socket.create_connection(where, 5); c.sendall(b'x'); return c.recv(1)",
            "show(lambda: get(('git.corp.example.com', 8443)))",
            "show(lambda: get(('10.1.2.3', 8443)))",
            "show(lambda: get(('git.corp.example.com', 9443)))",
        )
    assert said(done)[:2] == ["ok b'x'", "ok b'x'"]
    assert said(done)[2] in ("ok b''", "ECONNRESET")
    assert world.dials.seen == ["10.1.2.3:8443"] * 2


def test_a_listed_localhost_port_is_the_hosts_and_every_other_the_sessions_own(
    world: Outside, online: Online
) -> None:
    with serving(echo) as server, serving(echo) as hidden:
        world.dials.servers[server.port] = server.port
        session = online([f"localhost:{server.port}"])
        done = python(
            session,
            f"c = socket.create_connection(('localhost', {server.port}), 5)",
            "c.sendall(b'x'); print(c.recv(1))",
            f"show(lambda: socket.create_connection(('127.0.0.1', {hidden.port}), 5))",
            f"show(lambda: socket.create_server(('0.0.0.0', {server.port})))",
            "own = socket.create_server(('127.0.0.1', 8080))",
            "me = socket.create_connection(('127.0.0.1', 8080)); own.accept()[0].sendall(b'y')",
            "print(me.recv(1))",
        )
    assert said(done) == ["b'x'", "ECONNREFUSED", "EADDRINUSE", "b'y'"]


def test_a_server_in_one_command_is_reached_by_the_next(online: Online) -> None:
    session = online(["https://api.example.com"])
    serve = "s = socket.create_server(('127.0.0.1', 8000)); c = s.accept()[0]; c.sendall(b'hi')"
    running = session.session.start((PYTHON, "-c", f"import socket; {serve}"), session.env)
    done = python(
        session,
        "for _ in range(200):",
        "    try: c = socket.create_connection(('127.0.0.1', 8000)); break",
        "    except OSError: time.sleep(0.05)",
        "print(c.recv(9))",
    )
    assert said(done) == ["b'hi'"]
    assert running.wait(10) is not None


def test_an_address_of_the_launch_is_reached_without_a_name(world: Outside, online: Online) -> None:
    world.names.table["api.example.com"] = [PUBLIC]
    world.names.table["mute.example.com"] = ["silent"]
    with serving(echo) as server:
        world.dials.servers[443] = world.dials.servers[8443] = server.port
        session = online(["https://api.example.com", "mute.example.com:8443"])
        done = python(
            session,
            f"for where in [('{PUBLIC}', 443), ('{PUBLIC}', 8443), ('{ALSO_PUBLIC}', 443)]:",
            "    c = socket.create_connection(where, 5); c.sendall(b'x')",
            "    show(lambda: c.recv(1))",
        )
    assert said(done)[:2] == ["ok b'x'", "ok b'x'"], "each port that has a listener"
    assert said(done)[2] in ("ok b''", "ECONNRESET")
    assert world.warned == [
        "the network allowlist host 'mute.example.com' could not be resolved at launch: the "
        "resolver did not answer within 5s (a subprocess reaching it by literal address is "
        "denied for this run)"
    ]


@pytest.mark.parametrize("sealed", [False, True])
def test_commands_ask_the_sessions_own_name_server(
    world: Outside, contain: Opener, reading: HostReading, sealed: bool
) -> None:
    if sealed and reading.tier != "Sealed":
        pytest.skip("INCONCLUSIVE: no composed root here")
    if not Path("/etc/resolv.conf").exists() and not sealed:
        pytest.skip("INCONCLUSIVE: the host has no file that could be replaced")
    world.names.table["api.example.com"] = [PUBLIC]
    egress = world.egress(["https://api.example.com"])
    session = contain("cat", "getent", egress=egress, network=True, sealed=sealed)
    assert session.policy.tier == ("Sealed" if sealed else "Full")
    assert session.run("cat", "/etc/resolv.conf").stdout.decode() == resolv_conf()
    found = session.run("getent", "ahostsv4", "api.example.com").stdout.decode()
    assert found.startswith(f"{PUBLIC} ")
