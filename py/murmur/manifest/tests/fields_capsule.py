"""The file, its artifact entries, their gateways, and the door. One row for each field."""

from murmur.manifest.tests.rows import (
    ABSENT,
    AUTHENTICATED,
    BARE,
    BLOCK,
    ENTRY,
    GATEWAY,
    HOOK,
    MISSING,
    SKILL,
    TEXT,
    Code,
    Means,
    Row,
    rows,
)

IDENTITY: tuple[Row, ...] = (
    # Identity.
    Row("CapsuleBlock.name", "name", ("demo", "A name"), (MISSING, Code(None, "E-MAN-001"), "", 1)),
    Row("CapsuleBlock.version", "version", ("1", "0.1.0"), (MISSING, "", " ", 1.0, 2)),
    *rows("CapsuleBlock", "", "description mur_version", *TEXT),
    *rows(
        "CapsuleBlock",
        "",
        "artifacts",
        (Means([], []), Means(None, [])),
        ("a/b", {"name": "a/b"}, ["a/b"], [[]]),
    ),
    *rows(
        "CapsuleBlock",
        "",
        "capabilities inference lifecycle network context trace observability exports control",
        *BLOCK,
    ),
    Row("CapsuleBlock.deploy", "deploy", (), ("x", 1, [])),
    *(
        Row(f"CapsuleBlock.{key}", key, (Means(value, None),), (), result="description")
        for key in ("runtime", "implementation", "execution", "requires_files", "upstream_auth")
        for value in ("capsule",)
    ),
    *(
        Row(f"CapsuleBlock.{key}", key, (Means(["x"], None),), (), result="description")
        for key in ("programs", "tags")
    ),
    Row("DeployBlock.mur_version", "deploy.mur_version", ("1.0.0",), (1.0, True, [])),
    # Artifact entries.
    Row(
        "ArtifactBlock.name",
        "artifacts.0.name",
        (
            "a/b",
            Means(BARE, f"local/{BARE}"),
            Means("murmur-tool-x", "murmur/tool-x"),
            "a/" + "b" * 100,
        ),
        (MISSING, "A/b", "a/-b", "a/b-", "a/b/c", "a/", "/b", "a b", "", "a/" + "b" * 101, 1, []),
        also=ENTRY,
    ),
    Row(
        "ArtifactBlock.version", "artifacts.0.version", ("1", "1.0"), (MISSING, "", 1.0), also=ENTRY
    ),
    Row(
        "ArtifactBlock.runtime",
        "artifacts.0.runtime",
        ("tool", "driver", "hook", "skill", Means(None, "tool")),
        ("wasm", "native", "Tool", "", 1, []),
        also=ENTRY,
    ),
    Row("ArtifactBlock.source", "artifacts.0.source", ("./s", "/s"), ("", 1, []), also=SKILL),
    Row(
        "ArtifactBlock.local_source",
        "artifacts.0.local_source",
        (True, False, Means(None, True)),
        ("yes", 1),
        also=SKILL,
    ),
    Row(
        "ArtifactBlock.prompt_payload",
        "artifacts.0.prompt_payload",
        (True, False, Means(None, True)),
        ("yes", 1),
        also=SKILL,
    ),
    Row("ArtifactBlock.capabilities", "artifacts.0.capabilities", (), ("x", 1, []), also=ENTRY),
    Row(
        "ArtifactBlock.config",
        "artifacts.0.config",
        # Its shape is judged at staging (E-CAP-010).
        (
            Means({"a": 1}, {"value": {"a": 1}}),
            Means([], {"value": []}),
            Means(None, {"value": None}),
        ),
        (),
        also=ENTRY,
    ),
    Row(
        "ArtifactBlock.on_overflow",
        "artifacts.0.on_overflow",
        ("drop", "block", Means(None, "drop")),
        ("wait", "", True),
        also=HOOK,
    ),
    Row("ArtifactBlock.gateway", "artifacts.0.gateway", (), ("x", [], True), also=ENTRY),
    Row(
        "GatewayBlock.endpoint",
        "artifacts.0.gateway.endpoint",
        (
            "https://a.example",
            "https://a.example:8443/v1/",
            "http://localhost:11434",
            "http://127.0.0.1",
            "http://127.9.9.9:1/x",
            "http://[::1]:80/v1",
        ),
        (
            ABSENT,
            "",
            "a.example",
            "not a url",
            "ftp://a.example",
            "http://a.example",
            "http://0.0.0.0",
            "http://[::ffff:127.0.0.1]",
            "http://localhost.example",
            "https://u:p@a.example",
            "https://u@a.example",
            "https://${HOST}/v1",
            "https://a.example/?x",
            "https://a.example#x",
            "https://",
            "https://a.example:0",
            "https://a.example:70000",
            "https://a.example/a b",
            "//a.example",
            1,
            [],
        ),
        also=GATEWAY,
    ),
    Row(
        "GatewayBlock.api_key",
        "artifacts.0.gateway.api_key",
        ("${KEY}", "literal", "${lower}"),
        (Code(ABSENT, "E-CAP-018"), Code(None, "E-CAP-018"), Code(" ", "E-CAP-018"), 1, []),
        also=GATEWAY,
    ),
    Row(
        "GatewayBlock.keyless",
        "artifacts.0.gateway.keyless",
        (False, Means(None, False)),
        (True, "true", 1),
        also=GATEWAY,
    ),
    # The door.
    Row(
        "NetworkBlock@session.internal_port",
        "network.internal_port",
        (1, 14159, 65535),
        (0, -1, 65536, "80", True, 1.0),
    ),
    Row("NetworkBlock@session.authentication", "network.authentication", (), ("x", 1, [])),
    Row(
        "AuthenticationBlock.scheme",
        "network.authentication.scheme",
        ("bearer",),
        (Code(ABSENT, "E-MAN-001"), "basic", "Bearer", 1),
        also={"network.authentication.credentials": {}},
    ),
    Row(
        "AuthenticationBlock.credentials",
        "network.authentication.credentials",
        (
            Means({}, {}),
            Means(
                {"ci": {"scopes": ["GetTask"]}, "a_1-b": {"scopes": ["SendMessage"]}},
                {"ci": {"scopes": ["GetTask"]}, "a_1-b": {"scopes": ["SendMessage"]}},
            ),
        ),
        (
            ["ci"],
            "ci",
            {"operator": {"scopes": ["GetTask"]}},
            {"Ci": {"scopes": ["GetTask"]}},
            {"1a": {"scopes": ["GetTask"]}},
            {"a" * 33: {"scopes": ["GetTask"]}},
            {"ci": ["GetTask"]},
        ),
        also=AUTHENTICATED,
    ),
    Row(
        "CredentialBlock.scopes",
        "network.authentication.credentials.ci.scopes",
        tuple(
            Means([scope], [scope])
            for scope in (
                "SendMessage",
                "SendStreamingMessage",
                "GetTask",
                "ListTasks",
                "SubscribeToTask",
                "CancelTask",
                "murmur.WatchSession",
                "murmur.StopSession",
                "resources/files",
            )
        ),
        (
            MISSING,
            [],
            ["GetTask", "GetTask"],
            ["message/send"],
            ["message/stream"],
            ["tasks/get"],
            ["tasks/cancel"],
            ["stream/watch"],
            ["session/stop"],
            ["*"],
            "GetTask",
            [1],
        ),
        also=AUTHENTICATED,
    ),
)
