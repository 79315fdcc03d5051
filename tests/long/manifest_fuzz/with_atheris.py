"""The same targets under atheris, where it is installed: `python with_atheris.py [options]`.

Options are libFuzzer's, for example `-max_total_time=600`. Not part of any build: the package
comes for some platforms only.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["murmur.manifest", "murmur.read_only", "yaml"]):
    from tests.long.manifest_fuzz.targets import check, seeds, words

EXAMPLES = Path("py/murmur/manifest/tests/examples").resolve()


def main() -> None:
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(EXAMPLES)):
        (corpus / f"seed-{number}").write_bytes(seed)
    tokens = corpus.with_suffix(".dict")
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in words() if word]
    tokens.write_text("\n".join(lines) + "\n")
    options = [sys.argv[0], str(corpus), f"-dict={tokens}", "-timeout=5", *sys.argv[2:]]
    atheris.Setup(options, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
