// `corral run`: the flags of a run, and those that a scheduler gives to the supervisor of a plan's
// run. Options that an order does not give are taken from the environment and the configuration
// file.
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/run_plan.h"
#include "collect/sampler/listeners.h"
#include "core/cpu_list.h"
#include "core/text.h"
#include "run/options.h"
#include "run/supervise/supervisor.h"
#include "run/supervisor_order.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

// Flags of `corral run`. complete() in run.cpp checks them and turns them into `options`.
struct RunFlags {
  run::Options options;
  DestinationFlags destination;
  std::vector<std::string> params;
  std::vector<std::string> tags;
  std::string experiment;
  std::string listeners;
  std::string dcgm_address;
  std::string profile;
  std::string leftovers = "leave";
  bool no_listeners = false;
  bool capture_mlflow = false;
  bool no_mlflow = false;
  bool no_capture = false;
  bool no_mask = false;
  bool no_pty = false;
  std::string watch;
  Nanos max_time = kNoDuration;
  std::string keep_code = "10MiB";
  std::string tensorboard;
  PlanFlags plan;
  // Hidden flags of a scheduler.
  std::string order_fd;
  std::string run_id;
  std::string gate;
  std::string last_word;
  std::string cgroup;
  std::string affinity;
  std::string directory;
};

// Empty stays empty.
std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

std::vector<std::string> to_texts(const run::SupervisorOrder::Pairs& pairs) {
  std::vector<std::string> texts;
  texts.reserve(pairs.size());
  for (const auto& [key, value] : pairs) texts.push_back(fmt::format("{}={}", key, value));
  return texts;
}

template <class T>
void override_with(const std::optional<T>& setting, T& flag) {
  if (setting) flag = *setting;
}

void apply(const run::RunSettings& settings, RunFlags& f) {
  run::Options& o = f.options;
  override_with(settings.interval, o.interval);
  override_with(settings.grace, o.grace);
  override_with(settings.max_time, f.max_time);
  override_with(settings.leftovers, f.leftovers);
  override_with(settings.spool, f.destination.spool);
  override_with(settings.spool_limit, o.spool_limit);
  override_with(settings.listeners, f.listeners);
  override_with(settings.profile, f.profile);
  override_with(settings.dcgm_address, f.dcgm_address);
  if (settings.keep_code) f.keep_code = std::to_string(*settings.keep_code);
  override_with(settings.tensorboard, f.tensorboard);
  override_with(settings.max_epochs, o.max_epochs);
  override_with(settings.max_steps, o.max_steps);
  override_with(settings.no_listeners, f.no_listeners);
  override_with(settings.capture_mlflow, f.capture_mlflow);
  override_with(settings.no_mlflow, f.no_mlflow);
  override_with(settings.hash_data, o.hash_data);
  override_with(settings.no_capture, f.no_capture);
  override_with(settings.no_mask, f.no_mask);
}

void apply(const run::SupervisorOrder& order, RunFlags& f) {
  run::Options& o = f.options;
  o.quiet = true;
  o.gate = order.gate;
  apply(order.settings, f);
  o.command = order.command;
  if (order.adopt) {
    o.adopt = order.run;
    return;
  }
  f.run_id = order.run;
  f.experiment = order.experiment;
  o.workload = order.workload;
  o.name = order.name;
  f.directory = order.directory;
  if (!order.environment.empty()) o.environment = order.environment;
  o.passed = order.passed;
  f.params = to_texts(order.params);
  f.tags = to_texts(order.tags);
  o.placement = order.placement;
}

Result<run::GateOptions> parse_gate(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ',');
  std::array<int, 2> found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto fd = parts.size() == found.size() ? parse_int(parts[i]) : std::nullopt;
    if (!fd || *fd < -1 || *fd > std::numeric_limits<int>::max() ||
        (*fd >= 0 && ::fcntl(static_cast<int>(*fd), F_GETFD) < 0))
      return fail(Code::kInvalidArgument, "--gate " + text + ": expected two open descriptors");
    found[i] = static_cast<int>(*fd);
  }
  return run::GateOptions{.release = found[0], .reports = found[1], .last_word = {}};
}

// Schedulers used to give orders by all the other flags here and by CORRAL_ variables. A plan runs
// for weeks, and its program file may be replaced meanwhile: an old scheduler then starts this
// program with its own flags.
void declare_scheduled(Arguments& a, RunFlags& f) {
  a.text("order-fd", f.order_fd, "descriptor of the order: see run/supervisor_order.h");
  a.text("run-id", f.run_id, "id of the run");
  a.text("gate", f.gate, "descriptors R,S: see run/gate.h");
  a.text("last-word", f.last_word, "file that the outcome is written to");
  a.text("cgroup", f.cgroup, "groups that the command is put into, separated by colons");
  a.text("affinity", f.affinity, "CPUs of the command, as 0-3,8");
  a.texts("pass", f.options.passed, "NAME, a variable that passes into a container");
  a.text("directory", f.directory, "folder in which the command starts");
  for (const char* name :
       {"order-fd", "run-id", "gate", "last-word", "cgroup", "affinity", "pass", "directory"})
    a.hidden(name);
}

Result<> apply_order(RunFlags& f) {
  if (f.order_fd.empty()) return {};
  const auto fd = parse_int(f.order_fd);
  if (!fd || *fd < 0 || *fd > std::numeric_limits<int>::max())
    return fail(Code::kInvalidArgument, "--order-fd " + f.order_fd + ": expected a descriptor");
  const auto order = run::read_order(static_cast<int>(*fd));
  if (!order) return tl::unexpected(order.error().with_context("--order-fd " + f.order_fd));
  apply(*order, f);
  // A plan inside a run would be scheduled beside this one, without the run's gate and record.
  if (!f.options.command.empty() && is_plan_file(f.options.command[0]))
    return fail(Code::kInvalidArgument, "a row cannot run an experiment file: " +
                                            f.options.command[0] + "; run it by itself");
  return {};
}

Result<> complete_scheduled(RunFlags& f) {
  run::Options& o = f.options;
  if (!f.run_id.empty()) o.run_id = TRY(RunId::parse(f.run_id));
  if (!f.gate.empty()) o.gate = TRY(parse_gate(f.gate));
  if (!f.last_word.empty()) o.gate.last_word = f.last_word;
  o.directory = f.directory;
  if (!f.cgroup.empty()) o.placement.groups = TRY(run::parse_groups(f.cgroup));
  if (!f.affinity.empty()) {
    o.placement.cpus = TRY(parse_cpu_list(f.affinity));
    if (o.placement.cpus.empty())
      return fail(Code::kInvalidArgument, "--affinity: expected CPUs, e.g. 0-3,8");
  }
  return {};
}

run::RunSettings plan_settings(const RunFlags& f) {
  const run::Options& o = f.options;
  // Empty and unset settings stay absent, so that a supervisor finds them as this process did.
  const auto given = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  const auto set = [](bool flag) { return flag ? std::optional(true) : std::nullopt; };
  return {.interval = o.interval,
          .grace = o.grace,
          .max_time = o.max_time,
          .leftovers = f.leftovers,
          .spool = given(absolute_path(f.destination.spool)),
          .spool_limit = o.spool_limit,
          .listeners = given(f.listeners),
          .profile = given(f.profile),
          .dcgm_address = given(f.dcgm_address),
          .keep_code = o.keep_code,
          .tensorboard = given(f.tensorboard),
          .max_epochs = given(o.max_epochs),
          .max_steps = given(o.max_steps),
          .no_listeners = set(f.no_listeners),
          .capture_mlflow = set(f.capture_mlflow),
          .no_mlflow = set(f.no_mlflow),
          .hash_data = set(o.hash_data),
          .no_capture = set(f.no_capture),
          .no_mask = set(f.no_mask)};
}

namespace fs = spool::fs;
// A server or store that only an untrusted file names.
constexpr const char* kWithheldPlace = "CORRAL_WITHHELD";

constexpr const char* kRunExamples =
    "  corral run train.py --epochs 10               a Python script, by $CORRAL_PYTHON or "
    "python3\n"
    "  corral run --name baseline -- ./train.sh      any command\n"
    "  corral run --experiment resnet --workload 3 --param batch=128 train.py\n"
    "                                                runs with one --workload share their host's "
    "metrics\n"
    "  corral run --interval 1s --max-time 2h train.py\n"
    "  corral run --profile torch:steps=100-103 train.py\n"
    "  corral run plan.csv                           an experiment file; repeat to resume\n"
    "  corral run plan.csv --dry-run                 print what that would do\n"
    "\nEnvironments: python=PATH, venv=DIR, conda=NAME, uv=FILE, pip=FILE, docker=IMAGE, "
    "podman=IMAGE,\napptainer=IMAGE, mlproject=DIR. Exit status: that of the command; 128 + signal "
    "if it was killed,\n126 or 127 if it could not be started.\n";

void declare_run(Arguments& a, RunFlags& f) {
  add_destination(a, f.destination);
  a.group("Names");
  a.text("experiment", f.experiment, "experiment of the run (default: default)");
  a.text("workload", f.options.workload,
         "workload of the run; its runs belong together (default: one of its own)");
  a.text("name", f.options.name, "name of the run (default: two random words)");
  a.text("job", f.options.job,
         "job whose processes record one run, or none (default: srun's, mpirun's)");
  for (const char* name : {"experiment", "workload", "name", "job"}) a.never_empty(name);
  a.texts("param", f.params, "parameter of the run, KEY=VALUE; may be repeated");
  a.texts("tag", f.tags, "tag of the run, KEY=VALUE; may be repeated");
  a.group("Measuring");
  a.text("listeners", f.listeners,
         "listeners to sample, joined by + or commas (default: all that work here)");
  a.flag("no-listeners", f.no_listeners, "sample only what Corral itself costs");
  a.duration("interval", f.options.interval, "time between samples, 10ms to 1h (default: 100ms)");
  a.text("profile", f.profile,
         "torch, nsys, ncu[:steps=A-B] (10-12), nsysraw, ncuraw or ncuattach");
  a.text("tensorboard", f.tensorboard,
         "record the event files that the command writes below this directory");
  a.text("watch", f.watch, "sample this process id and its children, not the command");
  a.text("dcgm-address", f.dcgm_address,
         "DCGM host engine, HOST:PORT or socket path (default: localhost:5555)");
  a.group("MLflow and training loops");
  a.flag("capture-mlflow", f.capture_mlflow,
         "record MLflow calls here even if MLFLOW_TRACKING_URI is set");
  a.flag("no-mlflow", f.no_mlflow, "do not record MLflow calls");
  a.flag("no-capture", f.no_capture, "do not record epochs, steps and data waits of the script");
  a.text("max-epochs", f.options.max_epochs, "end corral.epochs() after this many epochs");
  a.text("max-steps", f.options.max_steps,
         "end corral.steps() and corral.epochs() after this many steps");
  a.group("Reproducing");
  a.text("environment", f.options.environment,
         "run in python=, venv=, conda=, uv=, pip=, docker=, ... (default: here)");
  a.text("keep-code", f.keep_code,
         "size limit of kept code, or off to keep only hashes (default: 10MiB)");
  a.flag("hash-data", f.options.hash_data, "hash the files behind options named *data*");
  a.flag("no-mask", f.no_mask, "record secrets in arguments, code changes and variables");
  a.group("Process");
  a.duration("max-time", f.max_time, "end the run after this time");
  a.duration("grace", f.options.grace,
             "time between SIGINT and SIGTERM, for a checkpoint (default: 10s)");
  a.choice("leftovers", f.leftovers, {"leave", "wait"},
           "processes that outlive the command (default: leave)");
  a.flag("no-pty", f.no_pty, "send output to files even at a terminal");
  a.flag("quiet", f.options.quiet, "print only warnings");
  a.bytes("spool-limit", f.options.spool_limit,
          "disk space for data of the run that waits (default: 2GiB)");
  a.text("adopt", f.options.adopt, "supervise this run, whose supervisor was killed; no command");
  a.as_flag_only("adopt");
  a.as_flag_only("job");
  declare_scheduled(a, f);
  declare_plan(a, f.plan);
  // An experiment file has no arguments of its own.
  a.rest("train.py|COMMAND|plan.csv [ARGS]", f.options.command, is_plan_file);
  a.sources(f.options.sources);
  a.withholds(f.destination.withheld);
  a.asks_to_trust();
}

using Pairs = run::SupervisorOrder::Pairs;

Result<Pairs> parse_pairs(const std::vector<std::string>& texts, std::string_view option,
                          std::string_view example) {
  Pairs pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::kInvalidArgument,
                  fmt::format("{} {}: expected KEY=VALUE, e.g. {}", option, text, example));
    std::string key = text.substr(0, equals);
    std::string value = text.substr(equals + 1);
    if (key.size() > limits::kNameBytes || value.size() > limits::kValueBytes || !is_utf8(text)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} {}: a key has at most {} bytes, a value {}, both UTF-8", option,
                              key, limits::kNameBytes, limits::kValueBytes));
    }
    pairs.emplace_back(std::move(key), std::move(value));
  }
  return pairs;
}

Result<> check_counts(const run::Options& o) {
  for (const auto& [option, text] :
       {std::pair{"--max-epochs", &o.max_epochs}, {"--max-steps", &o.max_steps}}) {
    const bool digits = text->find_first_not_of("0123456789") == std::string::npos;
    if (!text->empty() &&
        (!digits || text->size() > 18 || text->find_first_not_of('0') == std::string::npos))
      return fail(Code::kInvalidArgument,
                  fmt::format("{} {}: expected a whole number greater than 0", option, *text));
  }
  return {};
}

Result<std::int64_t> parse_watched(const std::string& text) {
  const auto pid = parse_int(text);
  if (!pid || *pid < 1 || *pid > std::numeric_limits<pid_t>::max())
    return fail(Code::kInvalidArgument, "--watch " + text + ": expected the id of a process");
  return *pid;
}

Result<> check_interval(const run::Options& o) {
  constexpr Nanos kShortest{std::chrono::milliseconds(10)};
  constexpr Nanos kLongest{std::chrono::hours(1)};
  if (o.interval >= kShortest && o.interval <= kLongest) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--interval {:g}s: must be 10ms to 1h", seconds(o.interval)));
}

Result<> check_names(const run::Options& o) {
  for (const auto& [name, value] : {std::pair{"--experiment", &o.experiment},
                                    {"--workload", &o.workload},
                                    {"--name", &o.name}}) {
    if (value->size() > limits::kNameBytes || !is_utf8(*value))
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: at most {} bytes of UTF-8", name, limits::kNameBytes));
  }
  return {};
}

Result<> complete_mlflow(RunFlags& f) {
  run::Options& o = f.options;
  o.experiment_chosen = !f.experiment.empty();
  if (o.experiment_chosen) o.experiment = f.experiment;
  if (f.capture_mlflow && f.no_mlflow)
    return fail(Code::kInvalidArgument, "--capture-mlflow and --no-mlflow exclude each other");
  if (f.capture_mlflow) o.mlflow = run::Mlflow::kCapture;
  if (f.no_mlflow) o.mlflow = run::Mlflow::kOff;
  return {};
}

// radT's listeners have profilers among them.
Result<> complete_profile(RunFlags& f) {
  run::Options& o = f.options;
  const auto [others, profilers] = run::split_profilers(f.listeners);
  if (!profilers.empty() && !f.no_listeners) {
    if (others.empty()) f.no_listeners = true;
    f.listeners = others;
    if (f.profile.empty()) f.profile = profilers;
  }
  if (f.profile.empty()) return {};
  o.profile = TRY(run::parse_profile(f.profile));
  if (!o.capture && run::has_window(o.profile->tool))
    return fail(Code::kInvalidArgument,
                "--profile " + f.profile +
                    ": with --no-capture no steps are seen; nsysraw and ncuraw need none");
  if (!f.watch.empty())
    return fail(Code::kInvalidArgument,
                "--profile and --watch exclude each other: `corral profile` profiles a process "
                "that runs");
  return {};
}

Result<std::int64_t> parse_keep_code(const std::string& text) {
  if (text == "off") return 0;
  const auto size = parse_bytes(text);
  if (!size)
    return fail(Code::kInvalidArgument,
                "--keep-code: expected a size or off, e.g. 10MiB; not " + text);
  return static_cast<std::int64_t>(*size);
}

Result<> complete_destination(RunFlags& f) {
  run::Options& o = f.options;
  // Set by a scheduler for the destination that it names to its supervisors.
  if (const char* place = std::getenv(kWithheldPlace);
      place != nullptr && *place != '\0' &&
      (f.destination.server == place || f.destination.store == place))
    f.destination.withheld = "the corral.toml that names it is not trusted";
  auto destination = parse_destination(f.destination);
  const bool named = !f.destination.store.empty() || !f.destination.server.empty();
  const bool plan = !o.command.empty() && is_plan_file(o.command[0]);
  if (destination || named || plan || !o.adopt.empty()) {
    o.destination = TRY(std::move(destination));
  } else {
    o.lacking = destination.error().message;
  }
  return {};
}

Result<> check_max_time(const RunFlags& f) {
  if (f.max_time == Nanos(0))
    return fail(Code::kInvalidArgument, "--max-time must be greater than 0, e.g. 2h");
  return {};
}

Result<> complete_run(RunFlags& f) {
  run::Options& o = f.options;
  TRY(apply_order(f));
  if (!o.adopt.empty() && !o.command.empty())
    return fail(Code::kInvalidArgument, "--adopt takes the run's own command");
  if (o.command.empty() && o.adopt.empty())
    return fail(Code::kInvalidArgument, "missing script or command; try: corral run train.py");
  TRY(complete_mlflow(f));
  TRY(complete_scheduled(f));
  TRY(check_interval(o));
  TRY(check_names(o));
  TRY(check_counts(o));
  TRY(check_max_time(f));
  o.capture = !f.no_capture;
  o.mask = !f.no_mask;
  o.pty = !f.no_pty;
  TRY(complete_profile(f));
  if (!f.watch.empty()) o.watched = TRY(parse_watched(f.watch));
  o.params = TRY(parse_pairs(f.params, "--param", "lr=0.1"));
  o.tags = TRY(parse_pairs(f.tags, "--tag", "team=vision"));
  TRY(complete_destination(f));
  o.token = TRY(read_token(f.destination));
  o.spool = f.destination.spool;
  o.keep_code = TRY(parse_keep_code(f.keep_code));
  o.tensorboard = f.tensorboard;
  if (f.max_time != kNoDuration) o.max_time = f.max_time;
  o.leftovers = f.leftovers == "wait" ? run::Leftovers::kWait : run::Leftovers::kLeave;
  if (!f.no_listeners) o.listeners = TRY(collect::select_listeners(f.listeners));
  if (f.no_listeners) {
    auto prices = std::move(o.sources.footprint);
    o.sources = {};
    o.sources.footprint = std::move(prices);
  }
  if (const char* library = std::getenv("CORRAL_NVML_LIBRARY")) o.device_library = library;
  // Listener "dcgm" reads it there.
  if (!f.dcgm_address.empty()) ::setenv("CORRAL_DCGM_ADDRESS", f.dcgm_address.c_str(), 1);
  o.program = program_path();
  o.python_path = python_path(o.program);
  return {};
}

// Destination variables for the supervisors of an experiment file's runs, which work elsewhere, and
// for their commands: the Python package and `corral` inside a run use the same store.
std::vector<std::pair<std::string, std::string>> destination_variables(const RunFlags& f) {
  const spool::Destination& to = f.options.destination;
  const std::string store = !to.server.empty()    ? ""
                            : to.database.empty() ? to.store.string()
                                                  : to.database;
  // An empty value overrides what this process has inherited.
  std::vector<std::pair<std::string, std::string>> variables = {
      {"CORRAL_SERVER", to.server},
      {"CORRAL_STORE", store},
      {"CORRAL_TOKEN_FILE",
       f.destination.token_kept_back ? "" : absolute_path(f.destination.token_file)},
      {"CORRAL_CA_FILE", to.ca_file}};
  if (!to.withheld.empty()) variables.emplace_back(kWithheldPlace, to.server + store);
  return variables;
}

Result<> check_alone(RunFlags& f) {
  TRY(check_interval(f.options));
  TRY(check_names(f.options));
  TRY(check_counts(f.options));
  TRY(check_max_time(f));
  TRY(complete_profile(f));
  TRY(parse_keep_code(f.keep_code));
  if (!f.watch.empty()) TRY(parse_watched(f.watch));
  if (!f.no_listeners) TRY(collect::select_listeners(f.listeners));
  return {};
}

}  // namespace

std::string run_variable_problem(const std::string& name, const std::string& value) {
  if (!name.starts_with("CORRAL_")) return "";
  RunFlags flags;
  Arguments arguments("run", "", "");
  declare_run(arguments, flags);
  if (std::string problem = arguments.variable_problem(name, value); !problem.empty())
    return problem;
  const auto checked = check_alone(flags);
  return checked ? "" : checked.error().message;
}

namespace {

constexpr std::size_t kScriptBytes = 1u << 20;

// Options behind the script are the script's own. One of Corral's, which the script's text does not
// hold, was probably meant for Corral.
void warn_of_passed_options(const Arguments& arguments, const std::vector<std::string>& words) {
  if (words.empty() || !words[0].ends_with(".py")) return;
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (!option.starts_with("--") || !arguments.has_option(option.substr(2))) continue;
    const auto script = sys::read_file(words[0], kScriptBytes);
    if (!script || script->find(option) != std::string::npos) continue;
    complain("run", fmt::format("{} is passed to {}; options of Corral come before the script",
                                printable(option), printable(words[0])));
  }
}

}  // namespace

int run_command(std::span<char* const> args) {
  // Passwords in them are written over soon.
  std::vector<std::string> words(args.begin(), args.end());
  RunFlags flags;
  Arguments arguments("run",
                      "Runs a training script, a command or an experiment file and records it with "
                      "hardware metrics.",
                      kRunExamples);
  declare_run(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  const auto completed = complete_run(flags);
  if (!completed) {
    complain("run", completed.error().message);
    return kMisuse;
  }
  const bool adopts = flags.options.command.empty();
  if (adopts || !is_plan_file(flags.options.command[0])) {
    if (!flags.options.quiet) warn_of_passed_options(arguments, flags.options.command);
    return run::supervise(flags.options);
  }
  auto variables = destination_variables(flags);
  variables.push_back(arguments.config_variable());
  return run_plan({.flags = flags.plan,
                   .options = flags.options,
                   .settings = plan_settings(flags),
                   .variables = std::move(variables),
                   .words = std::move(words)});
}

}  // namespace corral::cli
