"""Sockets of every kind, and shared memory. spec/containment.md 17, 18 and 26.1.

Both sessions of this part have an empty `network.allow`; the second has `unix_sockets: true`.
"""

from typing import Final

from tests.conformance.rows import Control, Row, part

_ECHO: Final = Control('connected(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9))',
                       "ECONNREFUSED")  # fmt: skip
_OWN: Final = Control("len(socket.socketpair(1, socket.SOCK_STREAM))", 2)

ROWS: Final[tuple[Row, ...]] = (
    *part(
        _ECHO,
        {
            "host-loopback": (
                'connected(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", <port>))',
                "ECONNREFUSED",
            ),
            "host-loopback-6": (
                'connected(socket.AF_INET6, socket.SOCK_STREAM, ("::1", <port>))',
                "ECONNREFUSED",
            ),
            "host-address": (
                'connected(socket.AF_INET, socket.SOCK_STREAM, ("<address>", <port>))',
                "ECONNREFUSED",
            ),
            "connect-unlisted-tcp-host": (
                'connected(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443))',
                "ECONNREFUSED",
            ),
            "cloud-metadata": (
                'connected(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))',
                "ECONNREFUSED",
            ),
            "world-6": (
                'connected(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 443))',
                ("ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"),
            ),
            "udp-exfiltration": ('sent(("<address>", <datagrams>))', "sent"),
            "dns-exfiltration": ('socket.getaddrinfo("secret.example.com", 443)', "gaierror"),
            "icmp": ("socket.socket(2, socket.SOCK_DGRAM, 1).close()", ("EACCES", "EPERM")),
            "raw-ip": ("socket.socket(2, socket.SOCK_RAW, 1).close()", "EPERM"),
            "bind-to-device": ('socket.socket(2, 1).setsockopt(1, 25, b"lo\\0")', ("EPERM", None)),
            "transparent": ("option(0, 19, 1)", "EPERM"),
            "packet-mark": ("option(1, 36, 1)", "EPERM"),
        },
    ),
    *part(
        _OWN,
        {
            "unix": ("socket.socket(socket.AF_UNIX).close()", "EACCES"),
            "abstract-unix-socket-connect": (
                'connected(socket.AF_UNIX, socket.SOCK_STREAM, "\\0<abstract>")',
                "EACCES",
            ),
            "pathname-unix-socket-connect": (
                'connected(socket.AF_UNIX, socket.SOCK_STREAM, "<base>/listening")',
                "EACCES",
            ),
            "unix-datagram-pair": ("len(socket.socketpair(1, socket.SOCK_DGRAM))", "EACCES"),
            "unix-raw-pair": ("len(socket.socketpair(1, socket.SOCK_RAW))", "EACCES"),
            "unix-pair-elsewhere": (
                'socket.socketpair(1, socket.SOCK_STREAM)[0].sendto(b"x", "<base>/listening")',
                "EISCONN",
            ),
            "unix-pair-connect": (
                'socket.socketpair(1, socket.SOCK_STREAM)[0].connect("<base>/listening")',
                "EISCONN",
                ("EISCONN", "ENOENT"),
            ),
            "unix-packets-connect": (
                'socket.socketpair(1, socket.SOCK_SEQPACKET)[0].connect("<base>/packets")',
                "EISCONN",
                ("EISCONN", "ENOENT"),
            ),
            "netlink": ("socket.socket(16, socket.SOCK_RAW).close()", "EACCES"),
            # CVE-2016-8655 and CVE-2020-14386 lay behind this family.
            "packet": ("socket.socket(17, socket.SOCK_RAW).close()", "EACCES"),
            "kernel-crypto": ("socket.socket(38, socket.SOCK_SEQPACKET).close()", "EPERM"),
            "virtual-machine": ("socket.socket(40, socket.SOCK_STREAM).close()", "EPERM"),
            "any-other-family": ("families()", []),
            "high-bits-of-a-family": ("call(41, 198, 0x100000001, 1, 0)", "EACCES"),
        },
    ),
    *part(
        Control("call(29, 194, 0, 4096, 0o1600) >= 0", True),
        {
            "shared-memory-of-the-host": ("call(29, 194, <key>, 0, 0)", "ENOENT"),
            "message-queue-of-the-host": (
                'call(240, 180, b"murmur-<key>", os.O_RDWR, 0, 0)',
                "ENOENT",
            ),
        },
    ),
)

# With `unix_sockets: true`.
UNIX_ROWS: Final[tuple[Row, ...]] = part(
    Control("socket.socket(socket.AF_UNIX).close()", None),
    {
        "opted-in-abstract-of-the-host": (
            'connected(socket.AF_UNIX, socket.SOCK_STREAM, "\\0<abstract>")',
            "ECONNREFUSED",
        ),
        "opted-in-netlink": ("socket.socket(16, socket.SOCK_RAW).close()", "EACCES"),
        "opted-in-packet": ("socket.socket(17, socket.SOCK_RAW).close()", "EACCES"),
        "opted-in-datagram-pair": ("len(socket.socketpair(1, socket.SOCK_DGRAM))", 2),
        "opted-in-any-other-family": ("[f for f in families() if f != 1]", []),
    },
) + part(
    Control("socket.socket(socket.AF_UNIX).close()", None),
    {"opted-in-bind-in-workdir": ('socket.socket(1).bind("here.sock")', "EACCES")},
    holds="landlock",
)
