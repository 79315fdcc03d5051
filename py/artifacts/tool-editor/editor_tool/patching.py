"""Unified diffs of one file: parsing one, and applying it to a text.

A hunk goes where its old lines stand: at the line that it names, moved by what the hunks before it
turned out to be off by, or else at the nearest place that has them. Nothing is left out or guessed.
"""

import re
from dataclasses import dataclass

from murmur_tooling.members import ToolError

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Hunk:
    """Old and new lines without their line ends. `start` is where the old ones stand, from 1.

    `old_ended` and `new_ended` say whether the last line of each has a line end.
    """

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    added: int
    removed: int
    old_ended: bool
    new_ended: bool


@dataclass(frozen=True, slots=True)
class Patch:
    """A diff's hunks in order, and the names of its `---` and `+++` lines, if it has them."""

    hunks: tuple[Hunk, ...]
    old_name: str | None
    new_name: str | None

    @property
    def creates(self) -> bool:
        return self.old_name == _NOTHING

    def refuse_other_file(self, path: str) -> None:
        """Raise ToolError `patch_mismatch` unless the diff is one of `path`."""
        if self.new_name == _NOTHING:
            raise ToolError("patch_mismatch", "the patch deletes its file; the editor deletes none")
        for name in (self.old_name, self.new_name):
            if name is None or name == _NOTHING:
                continue
            bare = name.removeprefix("./")
            if path not in (bare, bare.partition("/")[2]) and not bare.endswith("/" + path):
                raise ToolError("patch_mismatch", f"the patch is one of {name}, not of {path}")


def parse(diff: str) -> Patch:
    """Read a diff. Raises ToolError `bad_patch` saying which line of it is wrong."""
    lines = diff.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    names: list[str | None] = [None, None]
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("@@"):
            hunk, at = _hunk(lines, at, len(hunks) + 1)
            hunks.append(hunk)
            continue
        if line.startswith(("--- ", "+++ ")):
            if hunks:
                raise _bad(at, "a second file begins; patch one file a call")
            names[line.startswith("+++ ")] = _name(line[4:])
        elif hunks and line.strip():
            raise _bad(at, f"{line[:_SHOWN]!r} is behind the last line that its hunk counts")
        at += 1
    if not hunks:
        raise ToolError("bad_patch", "the patch has no hunk; one begins with @@ -1,3 +1,4 @@")
    return Patch(tuple(hunks), names[0], names[1])


def apply(patch: Patch, text: str, path: str) -> str:
    """The text with every hunk applied. Raises ToolError `patch_failed` naming the hunk."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    bare = [line.removesuffix("\r") for line in lines]
    end = "\r" if lines and sum(line.endswith("\r") for line in lines) * 2 > len(lines) else ""
    result: list[str] = []
    done = moved = 0
    for number, hunk in enumerate(patch.hunks, 1):
        # A hunk without old lines stands behind the line that it names.
        wanted = hunk.start - bool(hunk.old) + moved
        at = _find(bare, hunk.old, wanted, done)
        if at is None:
            raise _does_not_fit(hunk, number, bare, max(wanted, 0), path)
        moved += at - wanted
        result += lines[done:at]
        kept = dict(zip(bare[at : at + len(hunk.old)], lines[at : at + len(hunk.old)], strict=True))
        result += [kept.get(line, line + end) for line in hunk.new]
        done = at + len(hunk.old)
        if done == len(lines) and (hunk.new or hunk.old):
            ended = hunk.new_ended
    result += lines[done:]
    return "\n".join(result) + ("\n" if ended and result else "")


def _hunk(lines: list[str], at: int, number: int) -> tuple[Hunk, int]:
    header = _HEADER.match(lines[at])
    if header is None:
        raise _bad(at, f"{lines[at][:_SHOWN]!r} is no hunk header; one is @@ -1,3 +1,4 @@")
    start, old_count, _, new_count = (
        int(text) if text is not None else 1 for text in header.groups()
    )
    old: list[str] = []
    new: list[str] = []
    added = removed = 0
    old_ended = new_ended = True
    at += 1
    while at < len(lines):
        mark, rest = lines[at][:1], lines[at][1:].removesuffix("\r")
        if mark == "\\":
            # "No newline at end of file", about the line before.
            before = lines[at - 1][:1]
            old_ended = old_ended and before == "+"
            new_ended = new_ended and before == "-"
        elif len(old) >= old_count and len(new) >= new_count:
            break
        elif mark in (" ", "") or lines[at] == "\r":
            old.append(rest)
            new.append(rest)
        elif mark == "-":
            old.append(rest)
            removed += 1
        elif mark == "+":
            new.append(rest)
            added += 1
        else:
            break
        at += 1
    if (len(old), len(new)) != (old_count, new_count):
        raise _bad(
            at - 1,
            f"hunk {number} counts {old_count} old and {new_count} new lines, "
            f"and has {len(old)} and {len(new)}",
        )
    return Hunk(start, tuple(old), tuple(new), added, removed, old_ended, new_ended), at


def _find(lines: list[str], old: tuple[str, ...], wanted: int, least: int) -> int | None:
    """Where the old lines stand nearest to `wanted`, not before `least`."""
    if not old:
        return wanted if least <= wanted <= len(lines) else None
    last = len(lines) - len(old)
    wanted = max(least, min(wanted, last))
    for distance in range(max(wanted - least, last - wanted) + 1):
        for at in (wanted - distance, wanted + distance):
            if least <= at <= last and lines[at] == old[0] and _stands(lines, old, at):
                return at
    return None


def _stands(lines: list[str], old: tuple[str, ...], at: int) -> bool:
    return tuple(lines[at : at + len(old)]) == old


def _does_not_fit(hunk: Hunk, number: int, lines: list[str], wanted: int, path: str) -> ToolError:
    """Says where the file differs from what the hunk expects, near the line that it names."""
    for offset, line in enumerate(hunk.old):
        at = wanted + offset
        there = lines[at] if at < len(lines) else None
        if there == line:
            continue
        has = "has no such line" if there is None else f"has {there[:_SHOWN]!r}"
        reason = f"line {at + 1} should be {line[:_SHOWN]!r}, and {path} {has}"
        break
    else:
        reason = f"{path} has {len(lines)} lines, and the hunk stands at {hunk.start}"
    return ToolError("patch_failed", f"hunk {number} does not fit: {reason}; nothing was changed")


def _name(text: str) -> str:
    return text.partition("\t")[0].strip()


def _bad(at: int, reason: str) -> ToolError:
    return ToolError("bad_patch", f"line {at + 1} of the patch: {reason}")
