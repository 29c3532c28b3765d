#include "environment/python.h"

#include <fmt/core.h>

#include <chrono>

#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

constexpr Nanos kAnswerLimit{std::chrono::seconds(60)};
// A container may have to be unpacked first.
constexpr Nanos kContainerLimit{std::chrono::minutes(10)};

// Python 3.8 and newer; of packages that are there twice the one that is imported counts.
constexpr std::string_view kQuestion = R"(
import json, os, platform, sys
packages = {}
try:
    from importlib.metadata import distributions
    for d in distributions():
        name = d.metadata["Name"]
        if name:
            packages.setdefault(name.lower().replace("_", "-"), "%s==%s" % (name, d.version))
except ImportError:
    pass
print(json.dumps({
    "version": platform.python_version(),
    "executable": sys.executable,
    "packages": "\n".join(packages[k] for k in sorted(packages)),
    "directories": [p for p in sys.path if os.path.isdir(p)],
}))
)";

// Returns the modification time of a file or directory as text; empty if it does not exist.
std::string modification_time(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return error ? "" : std::to_string(since.count());
}

// In the cache's folder of answers.
std::string answer_name(const PythonQuestion& question) {
  const std::string asked = question.content.empty()
                                ? question.python + "\n" + own_variable("PYTHONPATH")
                                : question.content + "\n" + question.python;
  return content_hash(asked) + ".json";
}

PythonFacts parse_facts(const Json& answer) {
  return {.version = answer.get_string("version"),
          .executable = answer.get_string("executable"),
          .packages = answer.get_string("packages")};
}

// A kept answer holds as long as nothing that it came from has changed.
std::optional<PythonFacts> kept_answer(const sys::PrivateDirectory& answers,
                                       const std::string& name, const std::string& python) {
  const auto text = answers.read_file(name);
  if (!text) return std::nullopt;
  const auto answer = Json::parse(*text);
  const Json* stamps = answer ? answer->find("stamps") : nullptr;
  if (stamps == nullptr || stamps->as_object() == nullptr) return std::nullopt;
  if (answer->get_string("python") != python) return std::nullopt;
  for (const auto& [directory, stamp] : *stamps->as_object()) {
    if (stamp.as_string() == nullptr || modification_time(directory) != *stamp.as_string())
      return std::nullopt;
  }
  return parse_facts(*answer);
}

void keep_answer(const sys::PrivateDirectory& answers, const PythonQuestion& question,
                 Json answer) {
  Json stamps{Json::Object{}};
  if (question.content.empty()) {
    stamps.set(question.python, modification_time(question.python));
    const Json* directories = answer.find("directories");
    if (directories != nullptr && directories->as_array() != nullptr) {
      for (const Json& directory : *directories->as_array())
        if (directory.as_string() != nullptr)
          stamps.set(*directory.as_string(), modification_time(*directory.as_string()));
    }
  }
  answer.set("python", question.python);
  answer.set("stamps", std::move(stamps));
  // Kept for speed alone.
  [[maybe_unused]] const auto kept =
      answers.replace_file(answer_name(question), answer.dump(), false);
}

}  // namespace

Result<sys::PrivateDirectory> open_answers(const PrepareOptions& options) {
  return sys::PrivateDirectory::make(options.cache / "python");
}

Result<PythonFacts> ask_python(const PythonQuestion& question, const PrepareOptions& options) {
  const auto answers = open_answers(options);
  auto kept =
      answers ? kept_answer(*answers, answer_name(question), question.python) : std::nullopt;
  if (kept) return *std::move(kept);
  Tool tool{.argv = question.prefix, .directory = "/"};
  for (const std::string_view word :
       {std::string_view(question.python), std::string_view("-c"), kQuestion})
    tool.argv.emplace_back(word);
  tool.limit = question.prefix.empty() ? kAnswerLimit : kContainerLimit;
  const ToolOutput output = TRY(run_checked(tool, options));
  const auto answer = Json::parse(trim(output.out));
  if (!answer || answer->get_string("version").empty())
    return fail(Code::kUnprocessable,
                fmt::format("{} does not behave like Python 3.8 or newer", question.python));
  if (answers) keep_answer(*answers, question, *answer);
  return parse_facts(*answer);
}

void note_python(Prepared& prepared, const std::string& python, const PythonFacts& facts) {
  note(prepared, "python", python);
  note(prepared, "python_version", facts.version);
  note(prepared, "packages", facts.packages);
  note(prepared, "packages_sha256", hex(sha256(facts.packages)));
}

Result<> use_venv(Prepared& prepared, const fs::path& directory, const PrepareOptions& options) {
  const std::string python = (directory / "bin" / "python").string();
  std::error_code error;
  if (!fs::exists(python, error))
    return fail(Code::kNotFound, fmt::format("{}: not a virtual environment: it has no bin/python; "
                                             "create it with `python3 -m venv {}`",
                                             directory.string(), directory.string()));
  const PythonFacts facts = TRY(ask_python({.python = python}, options));
  prepared.python = python;
  prepared.environment = {
      "VIRTUAL_ENV=" + directory.string(),
      "PATH=" + (directory / "bin").string() + ":" + own_variable("PATH", "/usr/bin:/bin")};
  // If it is set, an interpreter looks for its library there and not in the environment.
  if (!own_variable("PYTHONHOME").empty()) prepared.environment.emplace_back("PYTHONHOME=");
  note_python(prepared, python, facts);
  return {};
}

Result<Prepared> prepare_venv(const Spec& spec, const PrepareOptions& options) {
  Prepared prepared;
  if (spec.tool != "python") {
    TRY(use_venv(prepared, resolved(spec.target, options), options));
    return prepared;
  }
  const bool path = spec.target.find('/') != std::string::npos;
  const std::string given = path ? resolved(spec.target, options).string() : spec.target;
  const fs::path python = TRY(find_program(given));
  std::error_code error;
  const fs::path directory = python.parent_path().parent_path();
  if (fs::exists(directory / "pyvenv.cfg", error) && python.filename() == "python") {
    TRY(use_venv(prepared, directory, options));
    return prepared;
  }
  prepared.python = python.string();
  note_python(prepared, prepared.python, TRY(ask_python({.python = prepared.python}, options)));
  return prepared;
}

Result<> check_venv(const Spec& spec, const PrepareOptions& options) {
  const bool path = spec.tool != "python" || spec.target.find('/') != std::string::npos;
  fs::path python = path ? resolved(spec.target, options) : fs::path(spec.target);
  if (spec.tool != "python") python = python / "bin" / "python";
  TRY(find_program(python.string()));
  return {};
}

}  // namespace corral::environment
