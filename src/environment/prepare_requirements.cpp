// uv=requirements.txt and pip=requirements.txt: an environment built once for its content.
#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>

#include "core/text.h"
#include "environment/cache.h"
#include "environment/parts.h"
#include "environment/python.h"
#include "environment/requirements.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

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
  const std::string path = own_variable("PATH", "/usr/bin:/bin");
  std::string python = option_of(spec, "python", own_variable("CORRAL_PYTHON", "python3"));
  if (python.find('/') != std::string::npos) python = resolved(python, options).string();
  if (is_version(python)) {
    const std::string minor = python.substr(0, python.find('.', python.find('.') + 1));
    if (auto named = sys::find_in_path("python" + minor, path)) return named->string();
    const auto any = sys::find_in_path("python3", path);
    const auto facts = any ? ask_python({.python = any->string()}, options)
                           : Result<PythonFacts>(fail(Code::kNotFound, ""));
    if (facts && (facts->version + ".").starts_with(python + ".")) return any->string();
    python = "python" + minor;
  }
  auto found = sys::find_in_path(python, path);
  if (found) return found->string();
  return fail(found.error().code, found.error().message +
                                      "; the environment needs it: install it or name another "
                                      "with python=");
}

Result<Installation> installation_of(const Spec& spec, const PrepareOptions& options) {
  Installation i;
  i.uv = spec.kind == Kind::kUv;
  i.file = resolved(spec.target, options);
  i.arguments = options_of(spec, "arg");
  i.system_packages = option_of(spec, "system-packages") == "yes";
  if (i.uv)
    i.tool = TRY(find_tool("uv", "install it (`pip install uv`) or use pip= in place of uv="));
  i.content = TRY(requirements_content(i.file));
  auto python = chosen_python(spec, options);
  if (!python && i.uv && is_version(option_of(spec, "python"))) {
    i.python = option_of(spec, "python");  // uv may have it, or get it
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
                  .told = true};
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

Result<Prepared> prepare_requirements(const Spec& spec, const PrepareOptions& options) {
  const Installation i = TRY(installation_of(spec, options));
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
  note(prepared, "requirements_sha256", sha256_hex(i.content));
  if (i.uv) {
    const auto version = run_tool({.argv = {i.tool, "--version"}}, options);
    if (version && version->code == 0) note(prepared, "tool", std::string(trim(version->out)));
  }
  return prepared;
}

}  // namespace corral::environment
