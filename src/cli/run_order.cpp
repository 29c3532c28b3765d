#include "cli/run_order.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <limits>

#include "collocate/cpu_sets.h"
#include "core/text.h"

namespace corral::cli {
namespace {

std::vector<std::string> texts_of(const run::SupervisorOrder::Pairs& pairs) {
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
  f.params = texts_of(order.params);
  f.tags = texts_of(order.tags);
  o.placement = order.placement;
}

Result<run::GateOptions> gate_of(const std::string& text) {
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

}  // namespace

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

Result<> take_order(RunFlags& f) {
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
  if (!f.gate.empty()) o.gate = TRY(gate_of(f.gate));
  if (!f.last_word.empty()) o.gate.last_word = f.last_word;
  o.directory = f.directory;
  if (!f.cgroup.empty()) o.placement.groups = TRY(run::parse_groups(f.cgroup));
  if (!f.affinity.empty()) o.placement.cpus = TRY(collocate::parse_cpus(f.affinity));
  return {};
}

run::RunSettings settings_of(const RunFlags& f) {
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
          .max_epochs = given(o.max_epochs),
          .max_steps = given(o.max_steps),
          .no_listeners = set(f.no_listeners),
          .capture_mlflow = set(f.capture_mlflow),
          .no_mlflow = set(f.no_mlflow),
          .hash_data = set(o.hash_data),
          .no_capture = set(f.no_capture),
          .no_mask = set(f.no_mask)};
}

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

}  // namespace corral::cli
