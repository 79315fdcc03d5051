"""The word splitter of shell tools, plan shell steps and checks. spec/sessions.md 14.1."""


def split_words(line: str) -> list[str]:
    """Splits a command line into words, expanding nothing.

    White space separates; `'` or `"` opens a quoted run that ends at its match, or at the end of
    the line; a backslash takes the next character literally everywhere, inside quotes too; a
    trailing lone backslash is dropped; a word that stays empty produces no word.
    """
    words: list[str] = []
    word = ""
    quote = ""
    characters = iter(line)
    for character in characters:
        if character == "\\":
            word += next(characters, "")
        elif quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "'\"":
            quote = character
        elif character.isspace():
            if word:
                words.append(word)
            word = ""
        else:
            word += character
    if word:
        words.append(word)
    return words
