#!/usr/bin/env python3
"""Turns a folder of files into an assembler file and a C++ table, for embedding them in the binary.

embed.py DIST OUT writes OUT/assets.S (.incbin of every file, as it is and gzipped), OUT/assets.cpp
(corral::server::ui::embedded_assets) and OUT/*.raw, OUT/*.gz. A DIST that is empty or missing gives an empty
table. The output depends on the files' names and contents alone.
"""

import gzip
import hashlib
import sys
from pathlib import Path

MIME = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".ttf": "font/ttf",
    ".woff2": "font/woff2",
}

TABLE_HEAD = """// Made by tools/embed.py.
#include <array>

#include "server/ui/page.h"

"""


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def blob(symbol: str, file: Path) -> str:
    return (
        f"  .global {symbol}\n{symbol}:\n  .incbin {quoted(str(file))}\n"
        f"  .global {symbol}_end\n{symbol}_end:\n  .byte 0\n"
    )


def compress(content: bytes, target: Path) -> bool:
    """Writes the gzipped content when that saves a tenth; says whether it did."""
    packed = gzip.compress(content, 9, mtime=0)
    if len(packed) * 10 > len(content) * 9:
        return False
    target.write_bytes(packed)
    return True


def view(symbol: str) -> str:
    return f"std::string_view({symbol}, static_cast<std::size_t>({symbol}_end - {symbol}))"


def embed(dist: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(p for p in dist.rglob("*") if p.is_file()) if dist.is_dir() else []
    assembler = ["  .section .rodata\n"]
    symbols: list[str] = []
    rows: list[str] = []
    for number, file in enumerate(files):
        content = file.read_bytes()
        symbol = f"corral_asset_{number}"
        packed = out / f"{number}.gz"
        has_gzip = compress(content, packed)
        # A copy: the page may be rebuilt while the assembler reads.
        raw = out / f"{number}.raw"
        raw.write_bytes(content)
        assembler.append(blob(symbol, raw.resolve()))
        symbols.append(symbol)
        if has_gzip:
            assembler.append(blob(symbol + "_gz", packed.resolve()))
            symbols.append(symbol + "_gz")
        etag = '"' + hashlib.sha256(content).hexdigest()[:16] + '"'
        rows.append(
            f"    Asset{{{quoted(file.relative_to(dist).as_posix())}, "
            f"{quoted(MIME.get(file.suffix, 'application/octet-stream'))}, {quoted(etag)},\n"
            f"          {view(symbol)},\n"
            f"          {view(symbol + '_gz') if has_gzip else 'std::string_view()'}}},\n"
        )
    assembler.append('  .section .note.GNU-stack,"",%progbits\n')
    declarations = "".join(f"extern const char {s}[];\nextern const char {s}_end[];\n" for s in symbols)
    table = (
        f'{TABLE_HEAD}extern "C" {{\n{declarations}}}\n\n'
        "namespace corral::server::ui {\n\n"
        "std::span<const Asset> embedded_assets() {\n"
        f"  static const std::array<Asset, {len(rows)}> kAssets = {{\n{''.join(rows)}  }};\n"
        "  return kAssets;\n}\n\n}  // namespace corral::server::ui\n"
    )
    (out / "assets.S").write_text("".join(assembler))
    (out / "assets.cpp").write_text(table)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: embed.py DIST OUT")
    embed(Path(sys.argv[1]), Path(sys.argv[2]))
