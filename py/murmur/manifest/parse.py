"""A capsule manifest from its text: YAML, old spellings, validation, unknown keys.

The order of checks is spec/diagnostics.md 6.1, steps 9 and 10: E-MAN-002, E-MAN-001, E-MAN-003,
E-CAP-018, then W-MAN-001 and W-SEC-019.
"""

import dataclasses
from pathlib import PurePath
from typing import Any

from murmur.core.diagnostics import Diagnostic, MurmurError, warning
from murmur.core.version import VERSION
from murmur.manifest.capsule import Capsule, LoadedCapsule
from murmur.manifest.checks import check_capsule
from murmur.manifest.config import kind_of
from murmur.manifest.document import BadDocument, Document, parse_document
from murmur.manifest.endpoint import BadEndpoint, parse_endpoint
from murmur.manifest.lowering import Lowered, SpelledTwice, WrongTransport, lower
from murmur.manifest.refusal import Refusals, findings
from murmur.manifest.unknown import report, unknown_keys

_REFUSED_TOP_LEVEL = {
    "config": "configuration belongs on an artifact's own entry, artifacts[].config",
    "registry": "registries are gone: artifacts come from the stores and the sources of their "
    "scope; remove the block",
}


def read_mapping(text: str, file: str) -> tuple[Document, dict[str, Any]]:
    """The one document in `text`, which must be a mapping. Raises E-MAN-002 or E-MAN-003."""
    refusals = Refusals(file)
    try:
        document = parse_document(text)
    except BadDocument as bad:
        raise refusals.syntax(bad.reason, bad.place) from None
    if document.value is None:
        return document, {}
    if not isinstance(document.value, dict):
        reason = f"it must be a mapping, and is {kind_of(document.value)}"
        raise refusals.rejected((), reason)
    return document, document.value


def load_capsule(text: str, path: str, running: str = VERSION) -> LoadedCapsule:
    """The capsule that `text` declares; `path` is where it was read from, for messages.

    Raises E-MAN-001, E-MAN-002, E-MAN-003 and E-CAP-018. `running` is the version of this mur.
    """
    from pydantic import ValidationError

    from murmur.manifest.models.capsule import CapsuleBlock

    file = PurePath(path).name or path
    document, mapping = read_mapping(text, file)
    lowered, spelled = _lower(mapping, Refusals(file, document))
    refusals = Refusals(file, document, lowered.origins)
    refused = spelled or _refused_before(mapping, lowered, refusals)
    try:
        block = CapsuleBlock.model_validate(lowered.manifest)
    except ValidationError as problem:
        raise refusals.invalid(findings(problem), refused) from None
    if refused is not None:
        raise refused
    capsule: Capsule = block.result()
    if capsule.inference is not None and lowered.driver_implied:
        implied = dataclasses.replace(capsule.inference, driver_implied=True)
        capsule = dataclasses.replace(capsule, inference=implied)
    check_capsule(capsule, refusals)
    warnings = _old_spellings(lowered, file)
    warnings += report(list(unknown_keys(block)), capsule.version_pin, running)
    return LoadedCapsule(capsule, path, text, tuple(warnings), refusals.at)


def _refused_before(
    mapping: dict[str, Any], lowered: Lowered, refusals: Refusals
) -> MurmurError | None:
    """What no model says: blocks that are refused, and an old endpoint that nothing takes over."""
    for key, reason in _REFUSED_TOP_LEVEL.items():
        if key in mapping:
            return refusals.rejected((key,), reason)
    endpoint = lowered.stray_endpoint
    if endpoint is None:
        return None
    path = ("inference", "endpoint")
    if not isinstance(endpoint, str):
        return refusals.rejected(path, f"it must be a string, and is {kind_of(endpoint)}")
    try:
        parse_endpoint(endpoint)
    except BadEndpoint as problem:
        return refusals.rejected(path, str(problem))
    return None


def _lower(mapping: dict[str, Any], refusals: Refusals) -> tuple[Lowered, MurmurError | None]:
    """The manifest in new spellings, or as it stands and why it cannot be lowered."""
    try:
        return lower(mapping), None
    except (SpelledTwice, WrongTransport) as problem:
        return Lowered(mapping), refusals.rejected(problem.path, str(problem))


def _old_spellings(lowered: Lowered, file: str) -> list[Diagnostic]:
    return [warning("W-MAN-001", file=file, old=use.old, new=use.new) for use in lowered.uses]
