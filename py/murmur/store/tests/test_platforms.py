"""spec/registry.md 10."""

import pytest

from murmur.store.platforms import Verdict, host_platform, identify, judge, split_tag

from .components import elf

MACH = b"\xcf\xfa\xed\xfe"


@pytest.mark.parametrize(
    ("head", "platform"),
    [
        (elf(0x3E), "linux-x86_64"),
        (elf(0xB7), "linux-aarch64"),
        (elf(0xB7, big=True), "linux-aarch64"),
        (elf(0x03), None),
        (elf(0x3E, wide=False), None),
        (elf(0x3E)[:63], None),
        (MACH + b"\x07\0\0\x01", "darwin-x86_64"),
        (MACH + b"\x0c\0\0\x01", "darwin-aarch64"),
        (MACH[::-1] + b"\x01\0\0\x0c", "darwin-aarch64"),
        (MACH + b"\x07\0\0\x02", None),
        (MACH, None),
        (b"\xca\xfe\xba\xbe", "darwin"),
        (b"#!/bin/sh\n", None),
        (b"\0asm\x0d\0\1\0", None),
        (b"", None),
    ],
)
def test_a_binary_is_identified_by_its_first_64_bytes(head: bytes, platform: str | None) -> None:
    assert identify(head) == platform


def test_only_a_positive_mismatch_is_one() -> None:
    assert judge("linux-x86_64", "linux-x86_64") is Verdict.RUNNABLE
    assert judge("darwin", "darwin-aarch64") is Verdict.RUNNABLE
    assert judge("darwin", "linux-x86_64") is Verdict.MISMATCH
    assert judge("linux-aarch64", "linux-x86_64") is Verdict.MISMATCH
    assert judge(None, "linux-x86_64") is Verdict.INDETERMINATE
    assert judge("linux-x86_64", "unknown") is Verdict.INDETERMINATE


def test_this_interpreter_is_built_for_this_host() -> None:
    import sys
    from pathlib import Path

    assert judge(identify(Path(sys.executable).read_bytes()[:64]), host_platform()) is (
        Verdict.RUNNABLE
    )


@pytest.mark.parametrize(
    ("file_name", "split"),
    [
        ("x-1.0.0-linux-x86_64.mur.zip", ("x-1.0.0", "linux-x86_64")),
        ("x-1.0.0-windows-x86_64.mur.zip", ("x-1.0.0-windows-x86_64", None)),
        ("x-1.0.0.mur.zip", ("x-1.0.0", None)),
        ("-linux-x86_64.mur.zip", ("-linux-x86_64", None)),
        ("linux-x86_64.mur.zip", ("linux-x86_64", None)),
    ],
)
def test_a_tag_is_one_of_four_behind_a_hyphen_and_a_head(
    file_name: str, split: tuple[str, str | None]
) -> None:
    assert split_tag(file_name) == split
