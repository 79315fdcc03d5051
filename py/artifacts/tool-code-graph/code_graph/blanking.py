"""Sources of languages with braces, without what only looks like code.

Comments, strings and, in C, the second branch of a condition become blanks. Every character keeps
its place, so that what is found in the rest is found at its line.
"""

import re

_LINE = r"//[^\n]*"
_BLOCK = r"/\*(?:[^*]|\*(?!/))*(?:\*/)?"
_DOUBLE = r'"(?:[^"\\\n]|\\.)*"?'
_SINGLE = r"'(?:[^'\\\n]|\\.)*'?"
_TOKENS = {
    "c": rf"{_LINE}|{_BLOCK}|{_DOUBLE}|{_SINGLE}",
    "go": rf"{_LINE}|{_BLOCK}|{_DOUBLE}|{_SINGLE}|`[^`]*`?",
    # A slash begins a regular expression only where no value can have ended.
    "javascript": rf"{_LINE}|{_BLOCK}|{_DOUBLE}|{_SINGLE}|`(?:[^`\\]|\\.)*`?"
    r"|(?<=[=(,:\[!&|?{};])[ \t]*/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*",
    # 'a is a lifetime, 'a' a character.
    "rust": rf"{_LINE}|{_BLOCK}|r(?P<fence>#*)\"[\s\S]*?\"(?P=fence)|\"(?:[^\"\\]|\\.)*\"?"
    r"|'(?:[^'\\\n]|\\[^\n]{1,8}?)'",
}
_COMPILED = {language: re.compile(tokens, re.DOTALL) for language, tokens in _TOKENS.items()}
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?P<word>if|ifdef|ifndef|elif|else|endif)\b", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


def blanked(text: str, language: str) -> str:
    """The text of the same length and lines with nothing but code in it."""
    text = _COMPILED[language].sub(_blank, text)
    if language == "c":
        text = _DIRECTIVE.sub(_blank, _first_branches(text))
    return text


def blocks(text: str) -> dict[int, int]:
    """For each opening brace of blanked text, the place after its closing one."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in re.finditer(r"[{}]", text):
        if found.group() == "{":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.end()
    ends.update(dict.fromkeys(opened, len(text)))
    return ends


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def _first_branches(text: str) -> str:
    """Both branches of a condition would open a brace that is closed once."""
    kept: list[str] = []
    branches: list[bool] = []
    at = 0
    for found in _CONDITION.finditer(text):
        piece = text[at : found.start()]
        kept.append(re.sub(r"[^\n]", " ", piece) if any(branches) else piece)
        at = found.start()
        if found["word"].startswith("if"):
            branches.append(False)
        elif branches and found["word"] == "endif":
            branches.pop()
        elif branches:
            branches[-1] = True
    return "".join(kept) + text[at:]
