"""What of libpython an artifact may do without, by the names of its functions.

The linker lays out one source file after another, so a part is what lies between two functions. The
names are those of the CPython that componentize-py carries: where another release has other ones, a
build says so (`library.py`).
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """The functions from `first` to `last`, used by nothing but these native modules."""

    modules: tuple[str, ...]
    first: str
    last: str


PARSER = "_ast"
"""The native module that an artifact with a parser has imported."""
_CJK = (
    "_codecs_cn",
    "_codecs_hk",
    "_codecs_iso2022",
    "_codecs_jp",
    "_codecs_kr",
    "_codecs_tw",
    "_multibytecodec",
)
SPANS = (
    Span(("_sqlite3",), "pysqlite_close_all_blobs", "_pysqlite_long_as_int64"),
    Span(("_sqlite3",), "sqlite3_log", "pcache1Shrink"),
    Span(("cmath",), "PyInit_cmath", "cmath_exec"),
    Span(("_decimal",), "PyInit__decimal", "signaldict_copy"),
    Span(("_decimal",), "mpd_dflt_traphandler", "swap_halfrows_pow2"),
    Span(("zlib",), "PyInit_zlib", "zlib_ZlibDecompressor_decompress"),
    Span(("zlib",), "adler32_z", "zcfree"),
    Span(("_md5",), "PyInit__md5", "md5_get_digest_size"),
    Span(("_sha1",), "PyInit__sha1", "sha1_get_digest_size"),
    Span(("_sha2",), "PyInit__sha2", "SHA512_get_digest_size"),
    Span(("_sha3",), "PyInit__sha3", "SHAKE_get_suffix"),
    Span(("_blake2",), "PyInit__blake2", "py_blake2s_new"),
    Span(("_hmac",), "PyInit__hmac", "_hmac_HMAC_digest_size_get"),
    Span(("pyexpat", "_elementtree"), "PyInit_pyexpat", "makeuniversal"),
    Span(("pyexpat", "_elementtree"), "parserCreate", "big2_scanCdataSection"),
    Span(_CJK, "PyInit__codecs_cn", "_multibytecodec_MultibyteStreamWriter_reset"),
    Span(("unicodedata",), "PyInit_unicodedata", "ucd_traverse"),
    Span(("_socket", "select"), "PyInit_select", "sock_gettimeout_getter"),
    Span((PARSER,), "_PyPegen_interactive_exit", "_PyParser_InteractiveASTFromFile"),
    Span((PARSER, "_tokenize"), "_PyLexer_remember_fstring_buffers", "_PyTokenizer_ensure_utf8"),
    Span((PARSER,), "_Py_asdl_stmt_seq_new", "obj2ast_pattern"),
    Span(("_tokenize",), "PyInit__tokenize", "tokenizeriter_next"),
    Span((PARSER,), "_Py_asdl_generic_seq_new", "append_interpolation_format_spec"),
)
