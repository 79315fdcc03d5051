"""What leads libc to the session's responder. spec/containment.md 17.3."""


def resolv_conf() -> str:
    """The `/etc/resolv.conf` of contained commands, whatever the host's own says.

    Any address would do. libc shall ask once, and no earlier again than the look-up behind the
    answer may take; without a search list, which would ask for names that nobody listed.
    """
    return "nameserver 127.0.0.1\noptions attempts:1 timeout:6\n"
