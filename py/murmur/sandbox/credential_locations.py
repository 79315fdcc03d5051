"""Where programs keep their secrets: what a grant of a host path must not open unnoticed.

The list is fixed. spec/containment.md 16 (`credential_location`); formations digest A15 (`etc`).
"""

import os
from typing import Final

from murmur.sandbox.binaries import inside

# Relative to the operator's home.
_HOME: Final = (
    ".aws",
    ".azure",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/rclone",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".murmur",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".vault-token",
)

# Below /etc and elsewhere on the machine.
_SYSTEM: Final = (
    "/etc/cups/passwd.md5",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/kubernetes",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/openvpn",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/root",
    "/run/docker.sock",
    "/run/secrets",
    "/var/lib/docker",
    "/var/run/docker.sock",
    "/var/run/secrets",
)


def is_credential_location(path: str, home: str) -> bool:
    """Whether a canonical path is a known place of secrets, lies in one, or holds one.

    `home` is the operator's home, empty for one that has none.
    """
    own = [os.path.join(home, each) for each in _HOME] if os.path.isabs(home) else []
    return any(
        inside(path, (place,)) or inside(place, (path,))
        for place in (os.path.realpath(each) for each in (*_SYSTEM, *own))
    )
