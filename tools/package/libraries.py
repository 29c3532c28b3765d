"""Static libraries for the packages, built from Debian's source packages."""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from debian_packages import PackageError, Say, fetch, order, run
from toolchain import Toolchain

# Header-only libraries as Debian installs them, and where CMake looks for the newer ones.
HEADERS = ("include/boost", "include/CLI", "include/tl")
CMAKE_FILES = ("share/cmake/tl-expected", "lib/cmake/tl-expected")
# Licences of what else is compiled in: of these headers, as Debian has them, and of the compiler's own libraries.
HEADER_LICENCES = {"boost": "libboost*-dev", "cli11": "libcli11-dev", "tl-expected": "libexpected-dev"}
COMPILER_LICENCES = {
    "musl": "libc/musl/COPYRIGHT",
    "libcxx": "libcxx/LICENSE.TXT",
    "libcxxabi": "libcxxabi/LICENSE.TXT",
    "libunwind": "libunwind/LICENSE.TXT",
}


class Build:
    """One library: built in a folder with its patched sources, installed below toolchain.root."""

    def __init__(self, toolchain: Toolchain, package: str, data: dict[str, Path]) -> None:
        self.toolchain = toolchain
        self.data = data  # Debian packages of kind "all"
        self.source = toolchain.folder / "src" / package
        self.prefix = toolchain.root / "usr"
        self.log = toolchain.folder / "logs" / f"{package}.log"

    def unpack(self, description: Path) -> None:
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.parent.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
        self.run("dpkg-source", "--no-check", "-x", description, self.source, cwd=self.source.parent)

    def run(self, *words: str | Path, cwd: Path | None = None, **variables: str) -> None:
        run(*words, cwd=cwd or self.source, log=self.log, env={**self.toolchain.environment, **variables})

    def make(self, *words: str, cwd: Path | None = None) -> None:
        self.run("make", f"-j{os.cpu_count()}", *words, cwd=cwd)

    def cmake(self, *options: str, source: str = ".") -> None:
        out = self.source / "corral-build"
        self.run(
            *("cmake", "-G", "Ninja", "-S", self.source / source, "-B", out, "-DCMAKE_BUILD_TYPE=None"),
            *(f"-DCMAKE_TOOLCHAIN_FILE={self.toolchain.cmake_file}", f"-DCMAKE_INSTALL_PREFIX={self.prefix}"),
            *("-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_TESTING=OFF", *options),
        )
        self.run("cmake", "--build", out)
        self.run("cmake", "--install", out)

    def install(self, *files: str) -> None:
        """Copies libraries, and headers into the root of the includes."""
        for file in files:
            folder = self.prefix / ("lib" if file.endswith(".a") else "include")
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.source / file, folder)

    def archive(self, library: str, *objects: str) -> None:
        (self.source / library).unlink(missing_ok=True)
        self.run(f"{self.toolchain.prefix}-ar", "rcsD", library, *objects)


def zlib(build: Build) -> None:
    build.run("./configure", "--static", f"--prefix={build.prefix}")
    build.make("libz.a", "install")


def openssl(build: Build) -> None:
    machine = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch64"}[build.toolchain.arch]
    build.run(
        *("perl", "Configure", machine, "no-shared", "no-tests", "no-engine", "no-legacy", "no-dso", "no-module"),
        *("no-ui-console", "no-comp", "no-ssl3", "no-cms", "no-ts", "no-srp", "no-psk", "no-idea", "no-camellia"),
        *("--prefix=/usr", "--libdir=lib", "--openssldir=/etc/ssl"),
    )
    build.make("build_generated")
    build.make("libcrypto.a", "libssl.a")
    build.install("libcrypto.a", "libssl.a")
    shutil.copytree(build.source / "include/openssl", build.prefix / "include/openssl", dirs_exist_ok=True)


def curl(build: Build) -> None:
    left_out = "dict file ftp gopher imap ldap ldaps manual mqtt ntlm pop3 rtsp shared smb telnet tftp tls-srp"
    without = "libpsl libidn2 brotli zstd nghttp2 librtmp libssh2 libgsasl ca-bundle ca-path"
    build.run(
        *("./configure", f"--host={build.toolchain.arch}-linux-gnu", f"--prefix={build.prefix}", "--enable-static"),
        *(f"--disable-{name}" for name in left_out.split()),
        *(f"--without-{name}" for name in without.split()),
        *(f"--with-openssl={build.prefix}", f"--with-zlib={build.prefix}"),
        LIBS="-ldl -lpthread",
    )
    build.make(cwd=build.source / "lib")
    build.install("lib/.libs/libcurl.a")
    shutil.copytree(build.source / "include/curl", build.prefix / "include/curl", dirs_exist_ok=True)


def libpq(build: Build) -> None:
    include, lib = f"-I{build.prefix}/include", f"-L{build.prefix}/lib"
    build.run(
        *("./configure", f"--host={build.toolchain.arch}-linux-gnu", "--prefix=/usr", "--with-ssl=openssl"),
        *("--without-readline", "--without-zlib", "--without-icu"),
        CPPFLAGS=include,
        LDFLAGS=lib,
        LIBS="-ldl -lpthread",
    )
    build.make("-C", "src/backend", "generated-headers")
    for folder in ("src/include", "src/common", "src/port"):
        build.make("-C", folder)
    build.make("-C", "src/interfaces/libpq", "libpq.a")
    build.install("src/interfaces/libpq/libpq.a", "src/common/libpgcommon_shlib.a", "src/port/libpgport_shlib.a")
    build.install("src/interfaces/libpq/libpq-fe.h", "src/include/postgres_ext.h", "src/include/pg_config_ext.h")


def sqlite(build: Build) -> None:
    # Its programs that join the sources run here; the joined source is the same everywhere.
    build.run("./configure", "--disable-tcl", CC="gcc", AR="ar", RANLIB="ranlib")
    build.make("sqlite3.c")
    options = (
        "THREADSAFE=1 ENABLE_COLUMN_METADATA ENABLE_DBSTAT_VTAB ENABLE_UNLOCK_NOTIFY OMIT_LOAD_EXTENSION USE_URI=1"
    )
    build.run(
        *(f"{build.toolchain.prefix}-clang", "-O2", "-fPIC", "-c", "sqlite3.c", "-o", "sqlite3-static.o"),
        *(f"-DSQLITE_{option}" for option in options.split()),
    )
    build.archive("libsqlite3.a", "sqlite3-static.o")
    build.install("libsqlite3.a", "sqlite3.h")


def duktape(build: Build) -> None:
    build.run(f"{build.toolchain.prefix}-clang", "-O2", "-fPIC", "-c", "src/duktape.c", "-o", "duktape.o")
    build.archive("libduktape.a", "duktape.o")
    build.install("libduktape.a", "src/duktape.h", "src/duk_config.h")
    (build.prefix / "lib/pkgconfig/duktape.pc").write_text(
        "Name: duktape\nDescription: JavaScript engine\nVersion: 2.7.0\n"
        f"Libs: -L{build.prefix}/lib -lduktape\nCflags: -I{build.prefix}/include\n"
    )


def re2(build: Build) -> None:
    """Its tables are made from Debian's Unicode data, as Debian makes them."""
    build.run("dpkg-deb", "-x", build.data["unicode-data"], "data")
    build.run("sed", "-i", f"s|/usr/share/unicode|{build.source}/data/usr/share/unicode|", "re2/unicode.py")
    tables = ("perl_groups", "unicode_groups", "unicode_casefold")
    build.make("REBUILD_TABLES=1", *(f"re2/{table}.cc" for table in tables))
    build.cmake("-DRE2_BUILD_TESTING=OFF")


def snappy(build: Build) -> None:
    """Debian makes a static library of the same name beside the shared one, which is static here, too."""
    with (build.source / "CMakeLists.txt").open("a") as file:
        file.write("set_target_properties(snappy PROPERTIES OUTPUT_NAME snappy-shared)\n")
    build.cmake("-DSNAPPY_BUILD_TESTS=OFF", "-DSNAPPY_BUILD_BENCHMARKS=OFF")


# In this order: curl and libpq need OpenSSL and zlib.
RECIPES: dict[str, Callable[[Build], None]] = {
    "zlib": zlib,
    "openssl": openssl,
    "curl": curl,
    "postgresql-15": libpq,
    "sqlite3": sqlite,
    "duktape": duktape,
    "libzstd": lambda build: build.cmake(
        *("-DZSTD_BUILD_SHARED=OFF", "-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_LEGACY_SUPPORT=OFF"), source="build/cmake"
    ),
    "fmtlib": lambda build: build.cmake("-DFMT_DOC=OFF", "-DFMT_TEST=OFF"),
    "simdjson": lambda build: build.cmake("-DSIMDJSON_DEVELOPER_MODE=OFF"),
    "re2": re2,
    "yaml-cpp": lambda build: build.cmake(*(f"-DYAML_CPP_BUILD_{part}=OFF" for part in ("TESTS", "TOOLS", "CONTRIB"))),
    "pugixml": lambda build: build.cmake(),
    "snappy": snappy,
}


def build_all(toolchain: Toolchain, downloads: Path, say: Say) -> None:
    """Builds whatever is missing or was built from something else."""
    sources = fetch(downloads, "source", say)
    data = fetch(downloads, "all", say)
    shared = inspect.getsource(Build) + toolchain.texts()
    for package, recipe in RECIPES.items():
        parts = (inspect.getsource(recipe), shared, sources[package].read_text())
        wanted = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        stamp = toolchain.folder / "stamps" / package
        if stamp.is_file() and stamp.read_text() == wanted:
            continue
        say(f"building {package} for {toolchain.arch}")
        build = Build(toolchain, package, data)
        build.unpack(sources[package])
        recipe(build)
        licence = toolchain.root / "usr/share/doc" / package / "copyright"
        licence.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.source / "debian/copyright", licence)
        shutil.rmtree(build.source)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(wanted)
    _copy_headers(toolchain)
    _copy_licences(toolchain)


def _copy_headers(toolchain: Toolchain) -> None:
    """Header-only libraries, and the headers of the limited API of Python, from this machine's packages."""
    for place in (*HEADERS, *CMAKE_FILES):
        source = Path("/usr") / place
        target = toolchain.root / "usr" / place
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
    include = toolchain.root / "usr/include"
    newest = max(Path("/usr/include").glob("python3.*"), default=None, key=lambda path: order(path.name))
    if newest is None:
        raise PackageError("the headers of Python are missing: apt-get install python3-dev")
    shutil.rmtree(include / "python", ignore_errors=True)
    shutil.copytree(newest, include / "python")
    # All that differs between machines is in there; of one word size it is the same.
    machine = next(Path("/usr/include").glob(f"*-linux-gnu/{newest.name}/pyconfig.h"))
    folder = include / f"{toolchain.arch}-linux-gnu" / newest.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(machine, folder)


def _copy_licences(toolchain: Toolchain) -> None:
    documents = Path("/usr/share/doc")
    found = {name: next(documents.glob(f"{package}/copyright"), None) for name, package in HEADER_LICENCES.items()} | {
        name: toolchain.zig.resolve().parent / "lib" / file for name, file in COMPILER_LICENCES.items()
    }
    for name, file in found.items():
        if file is None or not file.is_file():
            raise PackageError(f"the licence of {name} is missing")
        target = toolchain.root / "usr/share/doc" / name / "copyright"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
