"""The instructions of a core module's functions: which functions they call, and in fewer bytes.

No full decoder: one expression passes over all instructions that are of no interest, and between
its matches stand those that are. Whatever it does not know is `Unreadable`: a call missed would be
a function lost.
"""

from __future__ import annotations

import re

from tools.wasm.binary import Unreadable, encode_signed, encode_unsigned, signed, unsigned

_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
_OTHERS = (
    rb"[\x00\x01\x05\x0b\x0f\x1a\x1b\x45-\xc4\xd1]"  # no immediates
    rb"|[\x02-\x04\x0c\x0d\x20-\x22\x25\x26\x3f\x40\x42\xd0]" + _LEB +  # a block's type, an index
    rb"|[\x28-\x3e][\x00-\x3f]" + _LEB +  # loads and stores of memory 0
    rb"|\x43.{4}|\x44.{8}"
    rb"|\xfc(?:[\x00-\x07]|[\x09\x0b\x0d\x0f-\x11]" + _LEB + rb"|[\x08\x0a\x0c\x0e]" + _LEB + _LEB +
    rb")"
)  # fmt: skip
_INDEXED = rb"[\x23\x24\x41]" + _LEB + rb"|\x11" + _LEB + _LEB
_NO_CALLS = re.compile(rb"(?:" + _OTHERS + rb"|" + _INDEXED + rb")*+", re.DOTALL)
_NOT_LINKED = re.compile(rb"(?:" + _OTHERS + rb")*+", re.DOTALL)
_CALL, _RETURN_CALL, _CALL_INDIRECT, _REFERENCE = 0x10, 0x12, 0x11, 0xD2
_GET_GLOBAL, _SET_GLOBAL, _CONSTANT = 0x23, 0x24, 0x41
_BRANCH_TABLE = 0x0E


def called(body: bytes) -> set[int]:
    """The indices of the functions that `body` calls or takes a reference of."""
    at = _past_locals(body)
    found: set[int] = set()
    while True:
        at = _past(_NO_CALLS, body, at)
        if at == len(body):
            return found
        opcode = body[at]
        if opcode in (_CALL, _RETURN_CALL, _REFERENCE):
            function, at = unsigned(body, at + 1)
            found.add(function)
        elif opcode == _BRANCH_TABLE:
            at = _past_targets(body, at)
        else:
            raise Unreadable(f"a function holds the instruction {opcode:#x}")


def shortened(body: bytes) -> bytes:
    """The same instructions with the numbers in their shortest form.

    A linker writes what it fills in later, as indices and addresses, in five bytes each.
    """
    at = _past_locals(body)
    out = bytearray(body[:at])
    while True:
        past = _past(_NOT_LINKED, body, at)
        out += body[at:past]
        at = past
        if at == len(body):
            return bytes(out)
        opcode = body[at]
        if opcode == _BRANCH_TABLE:
            past = _past_targets(body, at)
            out += body[at:past]
        elif opcode == _CONSTANT:
            number, past = signed(body, at + 1)
            out += body[at : at + 1] + encode_signed(number)
        elif opcode in (_CALL, _RETURN_CALL, _REFERENCE, _GET_GLOBAL, _SET_GLOBAL):
            index, past = unsigned(body, at + 1)
            out += body[at : at + 1] + encode_unsigned(index)
        elif opcode == _CALL_INDIRECT:
            kind, past = unsigned(body, at + 1)
            table, past = unsigned(body, past)
            out += body[at : at + 1] + encode_unsigned(kind) + encode_unsigned(table)
        else:
            raise Unreadable(f"a function holds the instruction {opcode:#x}")
        at = past


def _past_locals(body: bytes) -> int:
    groups, at = unsigned(body, 0)
    for _ in range(groups):
        _, at = unsigned(body, at)
        at += 1  # their type
    return at


def _past(passed: re.Pattern[bytes], body: bytes, at: int) -> int:
    match = passed.match(body, at)
    assert match is not None  # it matches nothing at all, too
    return match.end()


def _past_targets(body: bytes, at: int) -> int:
    targets, at = unsigned(body, at + 1)
    for _ in range(targets + 1):
        _, at = unsigned(body, at)
    return at
