"""Proves the layers: includes point down only, and the two columns stay apart.

A folder may include its own files and those of the folders that TABLE allows it, and nothing else; the training-host
side links no database, the server side no GPU library. Both the includes and what the CMake targets link are checked.

Also proves that only store/ and compat/ speak SQL: nobody else names anything of `sql::`, tests included. And that only
cli/, the server's wiring and tests make an Access, with which a store can be read: all others pass on what they got.

Also proves that files in directories that others could have made (spools, journals, caches, sockets) are opened by
sys::PrivateDirectory alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# layer -> layers it may include, besides itself. A folder below src/ that is not named here belongs to the layer of the
# one above it, or to the layer "ABOVE/*", where there is one. The order is the layers', from the bottom up.
BASE = {"core", "sys", "metric", "codec"}
# The root has the parts that listeners are made of; "*" are the listeners; the sampler lists and runs them.
COLLECT = {"collect", "collect/*", "collect/sampler"}
STORED = {"core", "metric", "codec", "store", "store/model", "compat/mlflow/wire"}
COLLOCATE = {"collocate", "collocate/journal", "collocate/nvidia"}
RECORDING = {*BASE, *COLLECT, "http", "spool", "upload", "plan", "environment", *COLLOCATE, "compat/mlflow/wire"}
ROWS = {"store/tables", "store/search", "store/artifacts"}
RUN = {
    "run",
    "run/set_up",
    "run/otlp",
    "run/tensorboard",
    "run/terminal",
    "run/record",
    "run/supervise",
    "run/schedule",
}
QUERIES = {"query", "query/series", "query/chart", "query/export"}
SERVING = {*STORED, *ROWS, *QUERIES, "sys", "http", "analyze"}
ENGINES = {"store/engine", "store/engine/sqlite", "store/engine/postgres"}
# From the bottom up; `store` is the root of the folder, with Store and Reader.
STORE = ("model", "engine", "ingest", "remove", "seal", "read")
TABLE: dict[str, set[str]] = {
    "core": set(),
    "sys": {"core"},
    "metric": {"core"},
    "codec": {"core", "metric"},
    "http": {"core", "sys"},
    "oidc": {"core", "sys", "http"},
    "spool": BASE,
    "collect": {"core", "sys", "metric"},
    "collect/*": {"core", "sys", "metric", "collect"},
    "collect/sampler": {"core", "sys", "metric", "collect", "collect/*"},
    "upload": {*BASE, "spool"},
    "plan": {"core", "sys", "metric"},
    "environment": {"core", "sys"},
    "collocate/journal": {"core", "sys"},
    "collocate/nvidia": {"core", "sys", "metric", "collect", "collect/*", "plan", "collocate/journal"},
    "collocate": {
        *("core", "sys", "metric", "collect", "collect/*", "plan"),
        *("collocate/journal", "collocate/nvidia"),
    },
    "compat/mlflow/wire": {"core", "metric", "codec"},
    "compat/radt": {"core", "codec", "compat/mlflow/wire"},
    "trace": {"core", "codec", "compat/mlflow/wire"},
    "imports": {*BASE, "spool", "upload", "plan", "compat/mlflow/wire"},
    "script": {"core"},
    "store/model": {"core", "metric", "codec"},
    "store/engine": {*BASE, "store/model"},
    "store/engine/sqlite": {*BASE, "store/engine"},
    "store/engine/postgres": {*BASE, "store/engine"},
    **{
        f"store/{layer}": {*BASE, *(f"store/{lower}" for lower in STORE[:at])}
        for at, layer in enumerate(STORE)
        if at > 1
    },
    "store": {*BASE, *(f"store/{layer}" for layer in STORE)},
    "store/tables": {*BASE, "store/model", "store/engine", "store/read"},
    "store/search": {*BASE, *(f"store/{layer}" for layer in STORE), "store/tables", "compat/mlflow/wire"},
    "store/maintain": {*BASE, *(f"store/{layer}" for layer in STORE)},
    "store/open": {*BASE, *ENGINES, "store", "store/model", "store/maintain"},
    "store/artifacts": {"core", "sys"},
    "store/artifacts/file": {"core", "sys", "store/artifacts"},
    "store/artifacts/s3": {"core", "sys", "store/artifacts"},
    "store/artifacts/open": {"core", "sys", "store/artifacts", "store/artifacts/file", "store/artifacts/s3"},
    "store/conformance": {
        *BASE,
        *ENGINES,
        "store",
        *(f"store/{layer}" for layer in STORE),
        "store/tables",
        "store/open",
    },
    "store/faults": {*BASE, *ENGINES, "store", *(f"store/{layer}" for layer in STORE), "store/open", *QUERIES},
    "query/series": STORED,
    "query/chart": {*STORED, "query/series"},
    "query/export": {*STORED, "query/series", "query/chart"},
    "query": {*STORED, "query/series", "query/chart"},
    "analyze": {*STORED, *QUERIES, "store/tables", "compat/radt"},
    "compat/mlflow/tables": {*STORED, "store/engine", "store/search"},
    "compat/mlflow/import": {
        *STORED,
        *ENGINES,
        *ROWS,
        *("sys", "store/ingest", "store/read", "store/maintain", "store/artifacts/open"),
        *("compat/mlflow/tables", "compat/radt"),
    },
    "compat/mlflow/relay": {*BASE, "http", "spool", "upload", "run", "compat/mlflow/wire"},
    "run": RECORDING,
    "run/set_up": {*BASE, "spool"},
    "run/otlp": {*BASE, "http", "spool", "collect", "collect/*", "compat/mlflow/wire"},
    "run/tensorboard": {*BASE, "collect", "collect/*", "imports", "compat/mlflow/wire"},
    "run/terminal": {*BASE, "run"},
    "run/record": {*RECORDING, "run", "run/set_up", "run/otlp", "run/tensorboard"},
    "run/supervise": {*RECORDING, "run", "run/record", "run/terminal"},
    "run/schedule": {*RECORDING, "run"},
    "server/core": {*STORED, *ROWS, "sys", "http"},
    "server/api": {*SERVING, "oidc", "server/core"},
    "server/ui": {"core", "http", "server/core"},
    "compat/mlflow/api": {
        *SERVING,
        *("store/engine", "store/read", "server/core", "compat/mlflow/tables", "compat/radt"),
    },
    "compat/radt/api": {*SERVING, "store/engine", "store/read", "server/core", "compat/radt"},
    "compat": {"server/core", "compat/mlflow/api", "compat/mlflow/wire", "compat/radt", "compat/radt/api"},
    "server": {*SERVING, "oidc", "store/artifacts/open", "server/core", "server/api", "server/ui"},
    "launcher": set(),
    "cli": {
        *RECORDING,
        *SERVING,
        *("store/maintain", "store/open", "store/artifacts/open"),
        *("compat/mlflow/import", "trace", "imports", "script", *RUN, "server", "server/ui"),
    },
}
TRAINING_SIDE = {*COLLECT, "spool", "upload", "plan", "environment", *COLLOCATE, *RUN, "imports", "compat/mlflow/relay"}
SERVER_SIDE = {
    *(layer for layer in TABLE if layer.split("/")[0] == "store"),
    *QUERIES,
    "analyze",
    "server",
    "server/core",
    "server/api",
    "server/ui",
    "compat/mlflow/api",
}
DATABASES = re.compile(r'[<"](sqlite3|libpq-fe|pqxx)')
# Headers that only one file may include, besides tests: the driver.
DRIVERS = {"sqlite3": "store/engine/sqlite/database.cpp", "libpq-fe": "store/engine/postgres/database.cpp"}
GPU = re.compile(r'[<"](nvml|cuda|dcgm|rocm_smi|amd_smi|hip|level_zero)')
BOOST = re.compile(r"<boost/(\w+)")
# The only folders that may include Boost, and which of its libraries: Asio and Beast here, Math there.
BOOST_USERS = {"http": {"asio", "beast"}, "analyze": {"math"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]+[>"])', re.MULTILINE)
COMMENT = re.compile(r"//.*")
SQL = re.compile(r"\bsql::")
SQL_FOLDERS = {"store", "compat"}
# Makes a store::Access, and who may call it besides tests: a folder, or files right in one.
MAKER = re.compile(r"\bAccess::everything\b")
MAKERS = {"cli", "server"}
LINK = re.compile(r"SQLite::SQLite3|PostgreSQL::|\bpq\b")


# Sources whose files lie in a spool, a journal, a cache or a socket's directory: a folder or a file below src/.
PRIVATE_FILES = (
    *("spool", "upload", "compat/mlflow/relay", "environment/cache.cpp", "sys/store_paths.cpp"),
    *(
        "collocate/journal",
        "collocate/undo.cpp",
        "run/gate.cpp",
        "run/record/profile_requests.cpp",
        "run/record/profiling.cpp",
    ),
    *(
        "run/record/recording.cpp",
        "run/record/relay.cpp",
        "run/record/uploading.cpp",
        "run/record/sampling_lock.cpp",
    ),
    *("run/schedule/plan_journal.cpp", "run/schedule/recovery.cpp", "run/schedule/workload_runner.cpp"),
)
# The first two run inside the training process, by libc alone, and only create new files (O_EXCL); the last reads
# /proc alone.
EXEMPT = (
    *("spool/segment_writer.cpp", "spool/segment_identity.cpp"),
    "compat/mlflow/relay/client_rank.cpp",
)
RAW_FILE = re.compile(
    r"\bsys::(open_file|read_file|replace_file|try_lock_file|list_directory|make_directories)\("
    r"|(?<![\w>])::(open|creat|unlink|mkdir|rename|link|symlink|access|l?stat|chmod|truncate|mkostemp|opendir)\("
    r"|\bfs::(exists|is_\w+|remove\w*|rename|copy\w*|create_\w+|resize_file|file_size|last_write_time|\w*iterator)\("
    r"|\bstd::[io]?fstream\b"
)
# Files of the kernel, not of a user.
KERNEL_FILE = re.compile(r'"/(proc|sys|dev)/')


def folder_of(path: Path) -> str:
    """The folder of TABLE that a file, or a target named after its folder, belongs to; empty: none."""
    inside = path.relative_to(SRC)
    layers = (layer for folder in inside.parents for layer in (str(folder), f"{folder.parent}/*"))
    return next((layer for layer in layers if layer in TABLE), "")


def allows(own: str, target: str) -> bool:
    return target == own or target in TABLE[own]


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def problems_of(path: Path) -> list[str]:
    own = folder_of(path)
    where = path.relative_to(ROOT)
    is_test = "test" in path.stem or path.stem in {"conformance"}
    found = []
    for include in includes(path):
        target = folder_of(SRC / include[1:-1])
        if include.startswith('"') and target and not allows(own, target) and not is_test:
            found.append(f"{where}: {own}/ may not include {include}")
        if own in TRAINING_SIDE and DATABASES.search(include):
            found.append(f"{where}: the training-host side includes a database: {include}")
        for header, driver in DRIVERS.items():
            if include[1:].startswith(header) and where != Path("src") / driver and "faults" not in where.parts:
                found.append(f"{where}: only {driver} includes {include}")
        if own in SERVER_SIDE and GPU.search(include):
            found.append(f"{where}: the server side includes a GPU library: {include}")
        boost = BOOST.match(include)
        if boost and boost[1] not in BOOST_USERS.get(own, set()):
            found.append(f"{where}: {own}/ may not include this library of Boost: {include}")
    return found


def sql_uses(path: Path) -> list[str]:
    """Names of the store's SQL in a source that may not know that there is SQL."""
    if path.relative_to(SRC).parts[0] in SQL_FOLDERS:
        return []
    return [
        f"{path.relative_to(ROOT)}:{number}: only store/ and compat/ name sql::: {line.strip()}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SQL.search(COMMENT.sub("", line))
    ]


def access_made(path: Path) -> list[str]:
    """Places that make an Access and may not."""
    folder = str(path.relative_to(SRC).parent)
    if folder in MAKERS or "test" in path.stem:
        return []
    return [
        f"{path.relative_to(ROOT)}:{number}: only cli/, the server's wiring and tests make an Access: {line.strip()}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MAKER.search(COMMENT.sub("", line))
    ]


def raw_files(path: Path) -> list[str]:
    """Uses of a path in a source whose files only sys::PrivateDirectory may open."""
    inside = path.relative_to(SRC)
    private = any(Path(place) in (inside, *inside.parents) for place in PRIVATE_FILES)
    if not private or str(inside) in EXEMPT or "test" in path.stem or path.stem.startswith("fake"):
        return []
    return [
        f"{path.relative_to(ROOT)}:{number}: opened by its path; use sys::PrivateDirectory: {line.strip()}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if RAW_FILE.search(line) and not KERNEL_FILE.search(line) and not line.lstrip().startswith("//")
    ]


def link_problems() -> list[str]:
    found = []
    for file in SRC.rglob("CMakeLists.txt"):
        if file.parent == SRC:
            continue
        own = folder_of(file)
        if not own:
            continue
        text = re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
        if own in TRAINING_SIDE and LINK.search(text):
            found.append(f"{file.relative_to(ROOT)}: the training-host side links a database")
        without_tests = re.sub(r"TEST_DEPS[^)]*", "", text)
        for dependency in re.findall(r"corral::(\w+)", without_tests):
            layer = folder_of(SRC / dependency.replace("_", "/") / "any")
            if layer and not allows(own, layer):
                found.append(f"{file.relative_to(ROOT)}: {own} may not link corral::{dependency}")
    return found


def main() -> int:
    found = link_problems()
    for path in sorted(SRC.rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            if not folder_of(path):
                found.append(f"{path.relative_to(ROOT)}: a folder that is no layer")
            else:
                found += problems_of(path) + sql_uses(path) + access_made(path) + raw_files(path)
    print("\n".join(found) if found else "layers hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
