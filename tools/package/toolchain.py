"""The compiler of the packages: zig's clang, which links for an old glibc and brings its own static libc++.

A `Toolchain` is a folder of programs named after what they build for, and a CMake file that uses them. Whatever they
compile depends on the sources alone: no path of this checkout and no date gets into it.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian_packages import PackageError

GLIBC = "2.28"  # that of manylinux_2_28; Debian 10, Ubuntu 20.04 and RHEL 8 have it
MODULE_GLIBC = "2.17"  # the Python module is loaded in containers, too, which may be older


@dataclass(frozen=True)
class Toolchain:
    arch: str  # x86_64 or aarch64
    zig: Path
    folder: Path  # build/package/ARCH

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def root(self) -> Path:
        """The libraries are installed below it."""
        return self.folder / "root"

    @property
    def prefix(self) -> str:
        """The names of the programs begin with it."""
        return f"{self.arch}-corral"

    @property
    def cmake_file(self) -> Path:
        return self.folder / "toolchain.cmake"

    @property
    def environment(self) -> dict[str, str]:
        """For configure scripts, whose records of the compiler then hold no path."""
        return {
            **os.environ,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "LC_ALL": "C",
            "SOURCE_DATE_EPOCH": "0",
            "CC": f"{self.prefix}-clang",
            "CXX": f"{self.prefix}-clang++",
            "AR": f"{self.prefix}-ar",
            "RANLIB": f"{self.prefix}-ranlib",
            "CFLAGS": "-O2 -fPIC",
            "PKG_CONFIG_LIBDIR": str(self.root / "usr/lib/pkgconfig"),
        }

    def make(self) -> None:
        """Writes the programs and the CMake file. The configure scripts of the libraries allow no blank in a path."""
        if " " in str(self.folder):
            raise PackageError(f"{self.folder}: the libraries cannot be built below a path with a blank")
        self.bin.mkdir(parents=True, exist_ok=True)
        cache = self.folder.parent / "zig-cache"
        target = f"-target {self.arch}-linux-gnu.{GLIBC}"
        map_paths = f"-ffile-prefix-map='{self.folder}'=. -fno-sanitize=all -g0"
        for name, words in {
            "clang": f"cc {target} {map_paths}",
            "clang++": f"c++ {target} {map_paths}",
            "ar": "ar",
            "ranlib": "ranlib",
        }.items():
            program = self.bin / f"{self.prefix}-{name}"
            program.write_text(
                f"#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR='{cache}' ZIG_LOCAL_CACHE_DIR='{cache}'\n"
                f"exec '{self.zig}' {words} \"$@\"\n"
            )
            program.chmod(0o755)
        config = self.bin / "python-config"
        include = self.root / "usr/include"
        config.write_text(f"#!/bin/sh\necho '-I{include}/python -I{include}'\n")
        config.chmod(0o755)
        self.cmake_file.write_text(self._cmake())

    def _cmake(self) -> str:
        def program(name: str) -> Path:
            return self.bin / f"{self.prefix}-{name}"

        return f"""\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {self.arch})
set(CMAKE_C_COMPILER "{program("clang")}")
set(CMAKE_CXX_COMPILER "{program("clang++")}")
set(CMAKE_AR "{program("ar")}")
set(CMAKE_RANLIB "{program("ranlib")}")
set(CMAKE_FIND_ROOT_PATH "{self.root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{{PKG_CONFIG_LIBDIR}} "{self.root}/usr/lib/pkgconfig")
set(CMAKE_C_FLAGS_INIT "-O2 -fPIC")
set(CMAKE_CXX_FLAGS_INIT "-O2 -fPIC")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -pie -L{self.root}/usr/lib")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
"""

    def texts(self) -> str:
        """All that what it compiles depends on: its version and the files of make()."""
        version = subprocess.run([self.zig, "version"], check=True, capture_output=True, text=True).stdout
        programs = "".join(program.read_text() for program in sorted(self.bin.iterdir()))
        return version + programs + self.cmake_file.read_text()
