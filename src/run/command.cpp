#include "run/command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/text.h"
#include "environment/environment.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {
namespace {

namespace fs = spool::fs;

constexpr std::string_view kRunId = "CORRAL_RUN_ID=";
constexpr std::string_view kTrackingUri = "MLFLOW_TRACKING_URI=";
constexpr std::string_view kOtlpEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
constexpr std::string_view kOtlpProtocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL";
// Below the directory of the Python package: holds the sitecustomize that captures training loops.
constexpr std::string_view kStartup = "corral/_startup";

std::string variable(const char* name, std::string_view fallback = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : std::string(fallback);
}

// The entry of the script's directory that differs least from what was typed.
std::string nearest_script(const fs::path& script) {
  const fs::path directory = script.has_parent_path() ? script.parent_path() : fs::path(".");
  std::string best;
  std::size_t least = 3;  // more edits than this are not a misspelling
  for (const std::string& name : sys::list_directory(directory)) {
    const std::size_t edits = edit_distance(name, script.filename().string());
    if (name.ends_with(".py") && edits <= least) {
      least = edits - (edits > 0 ? 1 : 0);
      best = (script.has_parent_path() ? directory / name : fs::path(name)).string();
    }
  }
  return best;
}

Result<Command> python_command(const Options& options, const std::string& path) {
  const fs::path script = options.directory / options.command[0];
  std::error_code error;
  if (fs::is_directory(script, error))
    return fail(Code::kPermission, script.string() + ": is a directory, not a script");
  if (!fs::exists(script, error)) {
    const std::string near = nearest_script(script);
    const std::string hint = near.empty()
                                 ? fmt::format("looked in {}", fs::current_path(error).string())
                                 : "did you mean " + near + "?";
    return fail(Code::kNotFound, fmt::format("{}: no such script; {}", script.string(), hint));
  }
  if (::access(script.c_str(), R_OK) != 0)
    return fail(Code::kPermission, script.string() + ": permission denied");
  const std::string chosen =
      !options.python.empty() ? options.python : variable("CORRAL_PYTHON", "python3");
  const auto python = sys::find_in_path(chosen, path);
  if (!python) {
    return fail(python.error().code, python.error().message + "; it is to run " + script.string() +
                                         ": install Python 3 or name one with CORRAL_PYTHON");
  }
  // The command is executed in that folder.
  const fs::path program = options.directory.empty() ? *python : fs::absolute(*python, error);
  Command command{.argv = {program.string()}, .interpreter = program.string()};
  command.argv.insert(command.argv.end(), options.command.begin(), options.command.end());
  return command;
}

std::string_view inherited_value(char* const* inherited, std::string_view name) {
  for (char* const* e = inherited; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return {};
}

// Exporters of metrics send to `url` unless the user chose an endpoint; the endpoint of an outer
// run is not the user's choice. Exporters know no Unix sockets.
void add_otlp(const std::string& url, char* const* inherited, std::vector<std::string>& own) {
  if (url.empty()) return;
  const std::string_view outer = inherited_value(inherited, "CORRAL_OTLP");
  const std::string_view chosen = inherited_value(inherited, kOtlpEndpoint);
  own.push_back("CORRAL_OTLP=" + url);
  const bool users = !inherited_value(inherited, "OTEL_EXPORTER_OTLP_ENDPOINT").empty() ||
                     (!chosen.empty() && chosen != outer);
  if (users || !url.starts_with("http")) return;
  own.push_back(std::string(kOtlpEndpoint) + "=" + url);
  // Many exporters speak gRPC by default.
  if (inherited_value(inherited, kOtlpProtocol).empty())
    own.push_back(std::string(kOtlpProtocol) + "=http/protobuf");
}

}  // namespace

Result<Command> resolve_command(const Options& options, const std::string& path) {
  CORRAL_ASSERT(!options.command.empty());
  const std::string searched = path.empty() ? variable("PATH", "/usr/bin:/bin") : path;
  if (options.command[0].ends_with(".py")) return python_command(options, searched);
  auto found = sys::find_in_path(options.command[0], searched);
  if (!found) {
    std::error_code error;
    if (fs::is_directory(options.directory / options.command[0], error))
      return fail(Code::kPermission,
                  options.command[0] + ": is a directory; name a script or a command");
    // The script may have been named without its ending.
    if (fs::is_regular_file(options.directory / (options.command[0] + ".py"), error))
      found.error().message += fmt::format("; did you mean {}.py?", options.command[0]);
    return tl::unexpected(found.error());
  }
  Command command{.argv = options.command, .interpreter = {}};
  command.argv[0] = found->string();
  return command;
}

std::string interpreter_advice(const Options& options, std::string_view tail) {
  const bool chosen = !options.python.empty() || !options.environment.empty() ||
                      !variable("CORRAL_PYTHON", "").empty();
  if (chosen || options.command.empty() || tail.find("ModuleNotFoundError:") == tail.npos)
    return {};
  const auto command = resolve_command(options);
  if (!command || command->interpreter.empty()) return {};
  return fmt::format("{} ran with {}; CORRAL_PYTHON=/path/to/python chooses another",
                     options.command[0], command->interpreter);
}

std::vector<std::string> child_environment(const ChildEnvironment& run,
                                           const std::vector<std::string>& inherited) {
  std::vector<char*> entries;
  entries.reserve(inherited.size() + 1);
  for (const std::string& entry : inherited) entries.push_back(const_cast<char*>(entry.c_str()));
  entries.push_back(nullptr);
  return child_environment(run, entries.data());
}

std::string chosen_tracking_uri(char* const* inherited) {
  std::string uri;
  std::string outer_run;
  for (char* const* e = inherited; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    if (entry.starts_with(kTrackingUri)) uri = entry.substr(kTrackingUri.size());
    if (entry.starts_with(kRunId)) outer_run = entry.substr(kRunId.size());
  }
  const bool of_outer_run =
      !outer_run.empty() && uri.find("/" + outer_run + "/") != std::string::npos;
  return of_outer_run ? std::string() : uri;
}

std::vector<std::string> child_environment(const ChildEnvironment& run, char* const* inherited) {
  std::vector<std::string> own = {std::string(kRunId) + run.run_id,
                                  "CORRAL_SEGMENT_DIR=" + run.segments,
                                  "CORRAL_SPOOL_LIMIT=" + std::to_string(run.spool_limit)};
  if (!run.tracking_uri.empty()) own.push_back(std::string(kTrackingUri) + run.tracking_uri);
  if (!run.statsd.empty()) own.push_back("CORRAL_STATSD=" + run.statsd);
  add_otlp(run.otlp, inherited, own);
  if (!run.capture) own.emplace_back("CORRAL_CAPTURE=0");
  if (!run.max_epochs.empty()) own.push_back("CORRAL_MAX_EPOCHS=" + run.max_epochs);
  if (!run.max_steps.empty()) own.push_back("CORRAL_MAX_STEPS=" + run.max_steps);
  own.push_back("CORRAL_PROFILE_STEPS=" + run.profile_steps);
  std::string python_path = run.python_path;
  if (run.capture && !python_path.empty())
    python_path = (fs::path(python_path) / kStartup).string() + ":" + python_path;
  bool unbuffered = false;
  std::vector<std::string> environment;
  for (char* const* e = inherited; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (name == "PYTHONPATH" && !python_path.empty()) {
      if (entry.size() > name.size() + 1)
        python_path += ":" + std::string(entry.substr(name.size() + 1));
      continue;
    }
    unbuffered = unbuffered || name == "PYTHONUNBUFFERED";
    const bool replaced = std::ranges::any_of(
        own, [&](const std::string& mine) { return mine.starts_with(std::string(name) + "="); });
    if (!replaced) environment.emplace_back(entry);
  }
  if (!python_path.empty()) own.push_back("PYTHONPATH=" + python_path);
  // The command writes to a file, where Python would hold its prints back until the end.
  if (!unbuffered) own.emplace_back("PYTHONUNBUFFERED=1");
  environment.insert(environment.end(), own.begin(), own.end());
  return environment;
}

std::optional<int> container_end(const spool::Manifest& run) {
  if (!run.container) return std::nullopt;
  const environment::Prepared prepared = environment::of_container(run.container->program);
  const auto status = environment::exit_status_of(prepared, run.container->name);
  [[maybe_unused]] const auto gone =
      environment::discard(prepared, run.container->name, run.container->group);
  return status ? std::optional(*status) : std::nullopt;
}

namespace {

constexpr std::size_t kHostFileBytes = 1u << 20;
constexpr std::array<std::string_view, 5> kMpi = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun",
                                                  "prterun"};

// Returns the value of "-N 2", "-N2", "--nodes 2" or "--nodes=2" before the launched command.
std::optional<std::string> option(const std::vector<std::string>& words,
                                  const std::vector<std::string_view>& names) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const std::string_view name : names) {
      const std::string_view word = words[i];
      if (word == name) return i + 1 < words.size() ? words[i + 1] : std::string();
      if (!word.starts_with(name)) continue;
      const std::string_view rest = word.substr(name.size());
      if (rest.starts_with('=')) return std::string(rest.substr(1));
      if (name.size() == 2 && name[1] == 'N') return std::string(rest);
    }
  }
  return std::nullopt;
}

// "a:2,b" and lines of "a slots=2": names of hosts.
std::size_t count_hosts(std::string_view text, char separator) {
  std::set<std::string_view> hosts;
  for (const std::string_view part : split(text, separator)) {
    const std::string_view entry = trim(part);
    if (!entry.empty() && entry.front() != '#')
      hosts.insert(entry.substr(0, entry.find_first_of(" \t:")));
  }
  return hosts.size();
}

std::size_t hosts_in_file(const std::string& path) {
  const auto text = path.empty() ? tl::unexpected(Error()) : sys::read_file(path, kHostFileBytes);
  return text ? count_hosts(*text, '\n') : 0;
}

std::size_t nodes_of_job(const Variable& variable) {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
    if (const auto nodes = parse_int(variable(name))) return static_cast<std::size_t>(*nodes);
  return hosts_in_file(variable("PBS_NODEFILE"));
}

// "2" or "2-4"
std::optional<std::size_t> least_nodes(const std::optional<std::string>& text) {
  const auto nodes = text ? parse_int(text->substr(0, text->find('-'))) : std::nullopt;
  return nodes && *nodes > 0 ? std::optional(static_cast<std::size_t>(*nodes)) : std::nullopt;
}

// Returns the number of nodes; 0: unknown.
std::size_t nodes_of(std::string_view launcher, const std::vector<std::string>& words,
                     const Variable& variable) {
  if (launcher == "srun") {
    if (const auto nodes = least_nodes(option(words, {"-N", "--nodes"}))) return *nodes;
    return nodes_of_job(variable);
  }
  if (const auto list = option(words, {"-H", "-host", "--host", "-hosts", "--hosts"}))
    return count_hosts(*list, ',');
  if (const auto file =
          option(words, {"-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"}))
    return hosts_in_file(*file);
  return nodes_of_job(variable);
}

}  // namespace

std::string ranks_elsewhere(const std::vector<std::string>& command, const std::string& host,
                            const Variable& variable) {
  if (command.empty()) return {};
  const std::string launcher = std::filesystem::path(command[0]).filename().string();
  const bool mpi = std::ranges::find(kMpi, launcher) != kMpi.end();
  if (launcher != "srun" && !mpi) return {};
  const std::size_t nodes = nodes_of(launcher, command, variable);
  // Outside of a job srun requests nodes, which may be any.
  const bool asks = launcher == "srun" && variable("SLURM_JOB_ID").empty();
  if (nodes < 2 && !asks) return {};
  const std::string where = nodes < 2 ? "other hosts" : fmt::format("{} hosts", nodes);
  return fmt::format(
      "{0} starts ranks on {1}, but only processes on {2} are recorded in this run; to record "
      "every rank: {0} ... corral run ...",
      launcher, where, host);
}

}  // namespace corral::run
