"""A shell script's simple commands and redirections, read without running anything.

No shell is parsed in full: quoting, redirections, here-documents, operators and comments are read
as POSIX and bash have them, so that text in a string is not taken for a command; expansions are
skipped over and leave their word unknown from there on. Time is linear in the script's length.
"""

import re
from dataclasses import dataclass, field
from typing import Final

_PLAIN: Final = re.compile(r"[^\s'\"\\$`;&|<>()#~]+")
_IN_QUOTES: Final = re.compile(r"[^\"\\$`]+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-]")
_DUPLICATES: Final = re.compile(r"[0-9]*-?")
_EXTENDED_GLOB: Final = ("?", "*", "+", "@", "!", "=")


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes. `known` false: it ends in something that only the shell knows."""

    text: str
    known: bool = True

    @property
    def path(self) -> str | None:
        """The path that the word names; of an unknown one, the folder it surely begins with."""
        if self.known:
            return self.text or None
        folder = self.text[: self.text.rfind("/") + 1]
        return folder if folder.strip("/") else None


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `written` are redirection targets; `then` is the operator after it.

    `(` and `)` stand alone, as commands without words.
    """

    words: tuple[Word, ...]
    written: tuple[tuple[str, Word], ...]
    then: str


@dataclass(slots=True)
class _Document:
    """A here-document whose body is still to come."""

    delimiter: str
    strip: bool


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    pieces: list[str] | None = None
    known: bool = True
    words: list[Word] = field(default_factory=list)
    written: list[tuple[str, Word]] = field(default_factory=list)
    # The redirection operator whose operand comes next; "" when none does.
    wanted: str = ""
    documents: list[_Document] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def read(self) -> list[Command]:
        while self.at < len(self.text):
            self._step()
        self._end_command("")
        return self.commands

    def _step(self) -> None:
        text, at = self.text, self.at
        if plain := _PLAIN.match(text, at):
            self._add(plain[0])
            self.at = plain.end()
            return
        character = text[at]
        self.at += 1
        match character:
            case "\n":
                self._end_command(";")
                self._skip_documents()
            case "'":
                self._single_quoted()
            case '"':
                self._double_quoted()
            case "\\":
                self._backslash()
            case "$":
                self._dollar(quoted=False)
            case "`":
                self._backticks()
            case ";":
                self._end_command(";")
            case "&" | "|":
                self._operator(character)
            case "<" | ">":
                self._redirection(character)
            case "(":
                self._open()
            case ")":
                self._end_command(";")
                self.commands.append(Command((), (), ")"))
            case "#" | "~" if self.pieces is None:
                self._first_of_word(character)
            case _ if character.isspace():
                self._end_word()
            case _:
                self._add(character)

    def _add(self, piece: str) -> None:
        """Adds to the word; behind an expansion nothing more is known of it."""
        if self.pieces is None:
            self.pieces = []
        if self.known:
            self.pieces.append(piece)

    def _unknown(self) -> None:
        self._add("")
        self.known = False

    def _end_word(self) -> None:
        if self.pieces is None:
            return
        word = Word("".join(self.pieces), self.known)
        self.pieces, self.known = None, True
        operator, self.wanted = self.wanted, ""
        if not operator:
            self.words.append(word)
            if word.text == "[[" and len(self.words) == 1:
                end = self.text.find("]]", self.at)
                self.at = len(self.text) if end < 0 else end + 2
        elif operator.startswith("<<") and operator != "<<<":
            self.documents.append(_Document(word.text, operator.endswith("-")))
        elif ">" in operator and operator != "<>":
            duplicate = operator.endswith("&") and word.known and _DUPLICATES.fullmatch(word.text)
            if not duplicate:
                self.written.append((operator, word))

    def _end_command(self, then: str) -> None:
        self._end_word()
        self.wanted = ""
        if self.words or self.written:
            self.commands.append(Command(tuple(self.words), tuple(self.written), then))
            self.words, self.written = [], []

    def _single_quoted(self) -> None:
        end = self.text.find("'", self.at)
        end = len(self.text) if end < 0 else end
        self._add(self.text[self.at : end])
        self.at = end + 1

    def _double_quoted(self) -> None:
        self._add("")
        while self.at < len(self.text):
            if plain := _IN_QUOTES.match(self.text, self.at):
                self._add(plain[0])
                self.at = plain.end()
                continue
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                return
            if character == "$":
                self._dollar(quoted=True)
            elif character == "`":
                self._backticks()
            else:
                following = self.text[self.at : self.at + 1]
                self.at += 1
                if following != "\n":
                    self._add(following if following in '$`"\\' else "\\" + following)

    def _backslash(self) -> None:
        following = self.text[self.at : self.at + 1]
        self.at += 1
        if following != "\n":
            self._add(following)

    def _dollar(self, *, quoted: bool) -> None:
        following = self.text[self.at : self.at + 1]
        if following == "'" and not quoted:
            self._ansi_quoted()
        elif following == '"' and not quoted:
            return
        elif following in ("(", "{"):
            self._unknown()
            self._balanced()
        elif name := _NAME.match(self.text, self.at):
            self._unknown()
            self.at = name.end()
        else:
            self._add("$")

    def _ansi_quoted(self) -> None:
        self.at += 1
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        held = self.text[start : self.at]
        self.at += 1
        self._add(held.partition("\\")[0])
        if "\\" in held:
            self.known = False

    def _backticks(self) -> None:
        self._unknown()
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def _balanced(self) -> None:
        """Skips `(...)` or `{...}` from its opening character, quotes inside respected."""
        opening = self.text[self.at]
        closing = ")" if opening == "(" else "}"
        depth = 0
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == "\\":
                self.at += 1
            elif character == "'":
                end = self.text.find("'", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            elif character == opening:
                depth += 1
            elif character == closing:
                depth -= 1
                if depth == 0:
                    return

    def _operator(self, character: str) -> None:
        following = self.text[self.at : self.at + 1]
        if character == "&" and following == ">":
            self._end_word()
            appends = self.text.startswith(">>", self.at)
            self.at += 2 if appends else 1
            self.wanted = "&>>" if appends else "&>"
        elif following == character:
            self.at += 1
            self._end_command(character * 2)
        else:
            if character == "|" and following == "&":
                self.at += 1
            self._end_command(character)

    def _redirection(self, character: str) -> None:
        if self.text.startswith("(", self.at) and self.pieces is None and not self.wanted:
            # A process substitution: a word that only the shell knows.
            self._unknown()
            self._balanced()
            return
        descriptor = "".join(self.pieces or ())
        if self.known and descriptor.isdigit() and not self.wanted:
            self.pieces = None
        self._end_word()
        rest = self.text[self.at : self.at + 2]
        accepted = ("<<", "<-", "<", "&", ">") if character == "<" else (">", "|", "&")
        tail = next((sign for sign in accepted if rest.startswith(sign)), "")
        self.at += len(tail)
        operator = character + tail
        if operator == "<<" and self.text.startswith("-", self.at):
            self.at += 1
            operator = "<<-"
        self.wanted = operator

    def _open(self) -> None:
        if self.pieces is not None and self.text.startswith(")", self.at):
            # The head of a function: its body follows as commands of their own.
            self.at += 1
            self.pieces, self.known = None, True
            self.words = []
        elif self.pieces and self.pieces[-1].endswith(_EXTENDED_GLOB):
            self._unknown()
            self.at -= 1
            self._balanced()
        elif self.pieces is None and not self.words and self.text.startswith("(", self.at):
            self.at -= 1
            self._balanced()
        else:
            self._end_command(";")
            self.commands.append(Command((), (), "("))

    def _first_of_word(self, character: str) -> None:
        if character == "~":
            self._unknown()
            return
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _skip_documents(self) -> None:
        for document in self.documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if document.strip else line) == document.delimiter:
                    break
        self.documents = []


def read_script(text: str) -> list[Command]:
    """The commands of a script in the order they stand, whatever the script holds."""
    return _Reader(text).read()
