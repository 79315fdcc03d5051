"""How WIT documents are laid out for the WebAssembly tools."""

from __future__ import annotations

from pathlib import Path

from tools.wasm import documents


def test_each_folder_of_documents_becomes_a_package_under_deps(tmp_path: Path) -> None:
    sources = ["own/component.wit", "wit/tool/tool.wit", "wasi/io@0.2.0/poll.wit"]
    sources.append("wasi/io@0.2.0/streams.wit")
    for name in sources:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    own, *deps = [tmp_path / name for name in sources]

    documents.lay_out(tmp_path / "laid", [own], deps)

    found = sorted(
        str(path.relative_to(tmp_path / "laid")) for path in (tmp_path / "laid").rglob("*.wit")
    )
    assert found == [
        "component.wit",
        "deps/wasi-io@0.2.0/poll.wit",
        "deps/wasi-io@0.2.0/streams.wit",
        "deps/wit-tool/tool.wit",
    ]
