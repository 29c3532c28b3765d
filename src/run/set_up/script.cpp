#include "run/set_up/script.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/text.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

constexpr auto kSystem = std::to_array<std::string_view>(
    {"usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "proc", "sys", "dev", "boot"});
// Programs that execute a file that their arguments name.
constexpr auto kStarters = std::to_array<std::string_view>(
    {"bash",      "sh",     "dash",    "zsh",     "ksh",    "fish",       "torchrun", "accelerate",
     "deepspeed", "mpirun", "mpiexec", "srun",    "uv",     "uvx",        "poetry",   "pdm",
     "hatch",     "conda",  "mamba",   "pixi",    "env",    "nice",       "ionice",   "taskset",
     "numactl",   "time",   "timeout", "stdbuf",  "sudo",   "horovodrun", "composer", "coverage",
     "kernprof",  "nsys",   "ncu",     "Rscript", "julia",  "node",       "perl",     "ruby",
     "lightning", "ray",    "fabric",  "jupyter", "ipython"});
constexpr std::size_t kListBytes = 4u << 20;
constexpr Nanos kPatience{std::chrono::minutes(1)};  // at idle priority

bool is_python(std::string_view name) {
  for (const std::string_view stem : {"python", "pypy"})
    if (name.starts_with(stem))
      return name.find_first_not_of("0123456789.", stem.size()) == std::string_view::npos;
  return false;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// False for settings, hosts or logs, which may stand before the script: `accelerate launch
// --config_file gpus.yaml train.py`.
bool is_source(const fs::path& path) {
  constexpr auto kEndings =
      std::to_array<std::string_view>({".py", ".pyw", ".pyz", ".sh", ".bash", ".zsh", ".ipynb",
                                       ".jl", ".R", ".r", ".js", ".mjs", ".pl", ".rb", ".lua"});
  return std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

// Returns the file of a module; nullopt: it does not belong to this folder.
std::optional<fs::path> file_of_module(const std::string& module, const fs::path& directory) {
  fs::path stem = directory;
  for (const std::string_view part : split(module, '.')) stem /= part;
  for (const fs::path& file : {fs::path(stem.string() + ".py"), stem / "__main__.py"})
    if (is_file(file)) return file;
  return std::nullopt;
}

// Prints the files, each followed by NUL. argv: the script, its module or "", and the folders where
// imports are looked for. Runs isolated: no module of the user is imported.
constexpr const char* kWalk = R"(import ast, importlib.machinery, os, sys
script, module, roots = sys.argv[1], sys.argv[2], sys.argv[3:]
endings = [".py", *importlib.machinery.EXTENSION_SUFFIXES]
seen, queue = {script: None}, [script]

def files_of(at, parts):
    files = []
    for part in parts:
        at = os.path.join(at, part)
        init = os.path.join(at, "__init__.py")
        if os.path.isfile(init):
            files.append(init)
            continue
        for ending in endings:
            if os.path.isfile(at + ending):
                return files + [at + ending]
        if not os.path.isdir(at):
            break
    return files

def take(name, places):
    for place in places:
        files = files_of(place, name.split("."))
        for file in files:
            if file not in seen and len(seen) < 5000:
                seen[file] = None
                if file.endswith(".py"):
                    queue.append(file)
        if files:
            return

def names_of(node):
    if isinstance(node, ast.Import):
        return 0, [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        stem = node.module or ""
        below = [stem + "." + alias.name if stem else alias.name for alias in node.names]
        return node.level, ([stem] if stem else []) + below
    if isinstance(node, ast.Call) and node.args:
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        word = getattr(node.args[0], "value", None)
        if called in ("import_module", "__import__") and isinstance(word, str) and word[:1] != ".":
            return 0, [word]
    return 0, []

if module:
    take(module, roots)
while queue:
    file = queue.pop()
    try:
        if os.path.getsize(file) > 4 << 20:
            continue
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except Exception:
        continue
    for node in ast.walk(tree):
        level, names = names_of(node)
        folder = os.path.dirname(file)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        if level == 1 and isinstance(node, ast.ImportFrom):
            take("__init__", [folder])
        for name in names:
            take(name, [folder] if level else roots)
sys.stdout.buffer.write(b"".join(os.fsencode(file) + b"\0" for file in list(seen)[1:]))
)";

}  // namespace

bool is_installed(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.relative_path()) parts.push_back(part.string());
  if (parts.empty()) return true;
  if (std::ranges::find(kSystem, parts[0]) != kSystem.end()) {
    const bool source = parts[0] == "usr" && parts.size() > 2 &&
                        (parts[1] == "src" || (parts[1] == "local" && parts[2] == "src"));
    if (!source) return true;
  }
  fs::path above = "/";
  std::error_code error;
  for (const std::string& part : parts) {
    if (part == "site-packages" || part == "dist-packages") return true;
    const bool inner = part == "bin" || part == "lib" || part == "lib32" || part == "lib64";
    if (inner &&
        (fs::exists(above / "pyvenv.cfg", error) || fs::exists(above / "conda-meta", error)))
      return true;
    above /= part;
  }
  return false;
}

std::optional<Script> find_script(const std::vector<std::string>& words,
                                  const fs::path& directory) {
  if (words.empty()) return std::nullopt;
  const fs::path first = (directory / words[0]).lexically_normal();
  const bool named = words[0].find('/') != std::string::npos || words[0].ends_with(".py");
  const std::string name = first.filename().string();
  const bool starts = is_python(name) || std::ranges::find(kStarters, name) != kStarters.end();
  if (named && !starts && is_file(first) && !is_installed(first))
    return Script{.path = first, .module = ""};
  if (!starts) return std::nullopt;
  std::optional<Script> found;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) {
      if (const auto file = file_of_module(words[i + 1], directory))
        return Script{.path = *file, .module = words[i + 1]};
    }
    const fs::path path = (directory / words[i]).lexically_normal();
    if (words[i].starts_with('-') || !is_file(path) || is_installed(path)) continue;
    if (is_source(path)) return Script{.path = path, .module = ""};
    if (!found && !path.has_extension()) found = Script{.path = path, .module = ""};
  }
  return found;
}

Result<std::vector<fs::path>> list_imports(const ImportQuestion& question) {
  const fs::path own =
      question.script.module.empty() ? question.script.path.parent_path() : question.directory;
  std::error_code error;
  const fs::path target = fs::canonical(question.script.path, error);
  std::vector<std::string> argv = {
      question.interpreter,   "-I",        "-S", "-c", kWalk, question.script.path.string(),
      question.script.module, own.string()};
  // Python looks beside the file, not beside a link to it.
  if (!error && question.script.module.empty()) argv.back() = target.parent_path().string();
  for (const std::string_view folder : split(question.python_path, ':')) {
    const fs::path place = (question.directory / folder).lexically_normal();
    if (!folder.empty() && !is_installed(place) && !fs::exists(place / "corral/_startup", error) &&
        place.filename() != "_startup")
      argv.push_back(place.string());
  }
  std::string list;
  int code = 0;
  TRY(sys::capture_output({.argv = std::move(argv),
                           .directory = question.directory,
                           .limit = kPatience,
                           .take =
                               [&](std::string_view piece) {
                                 list += piece;
                                 return list.size() <= kListBytes;
                               }},
                          &code));
  if (code != 0)
    return fail(Code::kUnavailable, question.interpreter + " could not read the script's imports");
  std::vector<fs::path> files;
  for (const std::string_view file : split(list, '\0'))
    if (!file.empty()) files.emplace_back(file);
  return files;
}

}  // namespace corral::run::set_up
