#include "environment/requirements.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>

#include "core/sha256.h"
#include "core/text.h"
#include "environment/cache.h"
#include "environment/python.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

constexpr std::size_t kFileBytes = 4u << 20;
constexpr int kIncludeDepth = 16;

// The text before a package's name in a tool's complaint, and the end of the name.
struct Complaint {
  std::string_view before;
  std::string_view ends;
};
constexpr std::array kComplaints{
    // pip
    Complaint{"No matching distribution found for ", " \n"},
    Complaint{"satisfies the requirement ", " \n"},
    Complaint{"Invalid requirement: '", "'"},
    Complaint{"Invalid requirement: \"", "\""},
    Complaint{"Failed building wheel for ", " \n"},
    Complaint{"ERROR: Cannot install ", "\n"},
    Complaint{"No such file or directory: '", "'"},
    // uv
    Complaint{"you require ", ",\n"},
    Complaint{"Failed to build `", "`"},
    Complaint{"Failed to download `", "`"},
    Complaint{"Failed to fetch `", "`"},
    Complaint{"Failed to download and build `", "`"},
    Complaint{"Distribution not found at: ", "\n"},
    // conda, mamba, micromamba
    Complaint{"ResolvePackageNotFound: \n  - ", "\n"},
    Complaint{"not available from current channels:\n\n  - ", "\n"},
    Complaint{"nothing provides requested ", "\n"},
    Complaint{"nothing provides ", "\n"},
};

// The lines of a tool's output that explain the failure, on one: those from the first error on,
// else the last.
std::string reason_in(std::string_view output) {
  constexpr std::size_t kBytes = 600;
  std::vector<std::string> kept;
  for (const std::string_view raw : split(output, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || (kept.empty() && !lower_ascii(line).starts_with("error"))) continue;
    kept.push_back(without_credentials(to_utf8(line)));
    if (kept.size() == 2) break;
  }
  std::string text = kept.empty() ? last_lines(output, 3) : join(kept, " | ");
  if (text.size() > kBytes)
    text = text.substr(0, utf8_prefix(std::string_view(text).substr(0, kBytes))) + "…";
  return text;
}

// "-r FILE", "-rFILE", "--requirement FILE", "--requirement=FILE": what stands behind.
std::optional<std::string_view> included(std::string_view line) {
  for (const std::string_view option : {"--requirement", "--constraint", "-r", "-c"}) {
    if (!line.starts_with(option)) continue;
    std::string_view rest = line.substr(option.size());
    if (option.starts_with("--") && !rest.starts_with('=') && !rest.starts_with(' ')) continue;
    if (rest.starts_with('=')) rest.remove_prefix(1);
    return trim(rest);
  }
  return std::nullopt;
}

class Content {
 public:
  Result<std::string> of(const fs::path& file) {
    TRY(add(file, 0));
    return std::move(text_);
  }

 private:
  Result<> add(const fs::path& file, int depth) {
    if (depth > kIncludeDepth)
      return fail(Code::kInvalidArgument, file.string() + ": requirement files include each other");
    const std::string content = TRY(sys::read_file(file, kFileBytes));
    text_ += fmt::format("file {}\n{}\n", content.size(), content);
    for (const std::string_view line : split(content, '\n')) TRY(add_line(trim(line), file, depth));
    return {};
  }

  Result<> add_line(std::string_view line, const fs::path& file, int depth) {
    if (line.starts_with("- "))
      line = trim(line.substr(2));  // in the pip part of an environment.yml
    if (line.empty() || line.starts_with('#')) return {};
    if (line.find("://") != std::string_view::npos && !line.starts_with("file:")) return {};
    if (const auto more = included(line))
      return add(file.parent_path() / fs::path(more->substr(0, more->find(" #"))), depth + 1);
    for (const std::string_view option : {"-e ", "--editable ", "--editable=", "file://"})
      if (line.starts_with(option)) line = trim(line.substr(option.size()));
    line = line.substr(0, line.find_first_of(" ;["));
    if (line.find('/') != std::string_view::npos || line == "." || line.ends_with(".whl"))
      add_local(file.parent_path() / fs::path(line));
    return {};
  }

  void add_local(const fs::path& path) {
    std::error_code error;
    const fs::path seen = fs::is_directory(path, error) ? path / "pyproject.toml" : path;
    const auto time = fs::last_write_time(seen, error);
    text_ += fmt::format("local {} {} {}\n", fs::absolute(path, error).string(),
                         error ? 0 : time.time_since_epoch().count(),
                         fs::is_regular_file(seen, error) ? fs::file_size(seen, error) : 0);
  }

  std::string text_;
};

// The inputs of an installation.
struct Installation {
  bool uv = false;
  std::string tool;    // uv's path; pip is the environment's own
  std::string python;  // as given, or the path that was found
  std::string python_version;
  fs::path file;
  bool system_packages = false;
  std::vector<std::string> arguments;
  std::string content;
};

std::string platform() {
  utsname machine{};
  ::uname(&machine);
  return fmt::format("{}-{}", machine.sysname, machine.machine);
}

std::string made_from(const Installation& i) {
  return fmt::format("{}\npython {} {}\nplatform {}\nsystem packages {}\narguments {}\n{}\n",
                     i.uv ? "uv" : "pip", i.python, i.python_version, platform(), i.system_packages,
                     join(i.arguments, " "), i.content);
}

bool is_version(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The interpreter that the environment is made from: python=, else the one that a .py file gets.
// "3.10" is python3.10, or python3 when it is of that version.
Result<std::string> chosen_python(const Spec& spec, const PrepareOptions& options) {
  std::string python = option_value(spec, "python", own_variable("CORRAL_PYTHON", "python3"));
  if (python.find('/') != std::string::npos) python = resolved(python, options).string();
  if (is_version(python)) {
    const std::string minor = python.substr(0, python.find('.', python.find('.') + 1));
    if (auto named = find_program("python" + minor)) return named->string();
    const auto any = find_program("python3");
    const auto facts = any ? ask_python({.python = any->string()}, options)
                           : Result<PythonFacts>(fail(Code::kNotFound, ""));
    if (facts && (facts->version + ".").starts_with(python + ".")) return any->string();
    python = "python" + minor;
  }
  auto found = find_program(python);
  if (found) return found->string();
  return fail(found.error().code, found.error().message +
                                      "; the environment needs it: install it or name another "
                                      "with python=");
}

Result<Installation> make_installation(const Spec& spec, const PrepareOptions& options) {
  Installation i;
  i.uv = spec.kind == Kind::kUv;
  i.file = resolved(spec.target, options);
  i.arguments = option_values(spec, "arg");
  i.system_packages = option_value(spec, "system-packages") == "yes";
  if (i.uv)
    i.tool = TRY(find_tool("uv", "install it (`pip install uv`) or use pip= in place of uv="));
  i.content = TRY(requirements_content(i.file));
  auto python = chosen_python(spec, options);
  if (!python && i.uv && is_version(option_value(spec, "python"))) {
    i.python = option_value(spec, "python");  // uv may have it, or get it
    return i;
  }
  i.python = TRY(std::move(python));
  i.python_version = TRY(ask_python({.python = i.python}, options)).version;
  return i;
}

Result<> install_with(const Installation& i, std::vector<std::string> argv,
                      const PrepareOptions& options) {
  argv.insert(argv.end(), i.arguments.begin(), i.arguments.end());
  // Relative names in the file start at its folder.
  const Tool tool{.argv = std::move(argv),
                  .environment = {"PYTHONPATH="},
                  .directory = i.file.parent_path(),
                  .reports_output = true};
  const ToolOutput output = TRY(run_tool(tool, options));
  if (output.code == 0) return {};
  return fail(Code::kUnprocessable,
              fmt::format("{}: {}", i.file.filename().string(), blame(output.err)));
}

Result<> make_environment(const Installation& i, const fs::path& place,
                          const PrepareOptions& options) {
  Tool venv{.argv = {i.python, "-m", "venv", place.string()}, .environment = {"PYTHONPATH="}};
  if (i.uv) venv.argv = {i.tool, "venv", "--quiet", "--python", i.python, place.string()};
  if (i.system_packages) venv.argv.emplace_back("--system-site-packages");
  const auto made = run_checked(venv, options);
  if (!made)
    return tl::unexpected(made.error().with_context(
        i.uv ? "uv venv" : "python -m venv (Debian has it in python3-venv)"));
  const std::string python = (place / "bin" / "python").string();
  if (i.uv)
    return install_with(i, {i.tool, "pip", "install", "--python", python, "-r", i.file.string()},
                        options);
  return install_with(i,
                      {python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
                       "--progress-bar=off", "-r", i.file.string()},
                      options);
}
}  // namespace

Result<std::string> requirements_content(const fs::path& file) { return Content().of(file); }

std::string blamed_package(std::string_view output) {
  for (const Complaint& complaint : kComplaints) {
    const std::size_t at = output.find(complaint.before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = output.substr(at + complaint.before.size());
    const std::string_view name = trim(rest.substr(0, rest.find_first_of(complaint.ends)));
    if (!name.empty() && name.size() < 300) return std::string(name);
  }
  return "";
}

std::string blame(std::string_view output) {
  const std::string package = blamed_package(output);
  const std::string said = reason_in(output);
  if (package.empty()) return said.empty() ? "the tool gave no reason" : said;
  return fmt::format("package {} cannot be installed: {}", package, said);
}

Result<Prepared> prepare_requirements(const Spec& spec, const PrepareOptions& options) {
  const Installation i = TRY(make_installation(spec, options));
  const std::string from = made_from(i);
  const fs::path place = TRY(build_once(
      {.key = content_hash(from),
       .words = fmt::format("{} with {}", i.file.filename().string(), i.uv ? "uv" : "pip"),
       .made_from = without_credentials(from),
       .make = [&](const fs::path& where) { return make_environment(i, where, options); }},
      options));
  Prepared prepared;
  TRY(use_venv(prepared, place, options));
  note(prepared, "requirements", without_credentials(TRY(sys::read_file(i.file))));
  note(prepared, "requirements_sha256", hex(sha256(i.content)));
  if (i.uv) {
    const auto version = run_tool({.argv = {i.tool, "--version"}}, options);
    if (version && version->code == 0) note(prepared, "tool", std::string(trim(version->out)));
  }
  return prepared;
}

Result<> check_requirements(const Spec& spec, const PrepareOptions& options) {
  TRY(requirements_content(resolved(spec.target, options)));
  if (spec.kind == Kind::kUv) TRY(find_tool("uv", "install it, or use pip="));
  return {};
}

}  // namespace corral::environment
