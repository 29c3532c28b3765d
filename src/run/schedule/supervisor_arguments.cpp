#include "run/schedule/supervisor_arguments.h"

#include <fmt/core.h>

#include <filesystem>

#include "collocate/cpu_list.h"
#include "core/json.h"

namespace corral::run::schedule {
namespace {

std::string devices_json(const plan::Share& share, const collocate::Seat& seat) {
  Json::Array devices;
  for (const auto& place : seat.places) {
    Json::Object device{{"device", place.device}};
    if (!place.instance.empty()) device.emplace_back("instance", place.instance);
    if (!place.profile.empty()) device.emplace_back("profile", place.profile);
    devices.emplace_back(std::move(device));
  }
  if (devices.empty())
    for (const std::string& written : share.devices)
      devices.emplace_back(Json::Object{{"device", written}});
  return Json(std::move(devices)).dump();
}

void add_limits(std::vector<std::string>& words, const plan::Limits& limits) {
  if (limits.max_time) {
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(*limits.max_time);
    words.insert(words.end(), {"--max-time", fmt::format("{}ms", whole.count())});
  }
  if (limits.max_epochs)
    words.insert(words.end(), {"--max-epochs", std::to_string(*limits.max_epochs)});
  if (limits.max_steps)
    words.insert(words.end(), {"--max-steps", std::to_string(*limits.max_steps)});
}

void add_place(std::vector<std::string>& words, const RunPlace& place) {
  const plan::Row& row = place.row;
  if (!row.environment.empty() && row.environment != "-") {
    words.insert(words.end(), {"--environment", row.environment});
    // The values are in the supervisor's environment: others may read a command line.
    for (const auto& [name, value] : row.env) words.insert(words.end(), {"--pass", name});
  }
  if (row.listeners == plan::kNoListeners) {
    words.emplace_back("--no-listeners");
  } else if (!row.listeners.empty()) {
    words.insert(words.end(), {"--listeners", row.listeners});
  }
  if (!place.seat.cgroup.empty()) words.insert(words.end(), {"--cgroup", place.seat.cgroup});
  if (!place.seat.cpus.empty())
    words.insert(words.end(), {"--affinity", collocate::format_cpus(place.seat.cpus)});
}

// A program in the plan's folder is found there, though a shell would want "./" before it.
std::vector<std::string> command_of(const PlanFacts& plan, const plan::Row& row) {
  std::vector<std::string> command = row.command;
  if (command.empty()) return command;
  std::string& word = command[0];
  std::error_code error;
  const bool plain = word.find('/') == std::string::npos && !word.ends_with(".py");
  if (plain && std::filesystem::is_regular_file(plan.directory / word, error)) word = "./" + word;
  return command;
}

}  // namespace

std::filesystem::path own_directory(const std::filesystem::path& of_plan, const plan::Row& row) {
  const bool elsewhere =
      row.environment.starts_with("mlproject=") || plan::in_container(row.environment);
  if (row.command.empty() || elsewhere) return {};
  const std::filesystem::path script = row.command[0];
  if (script.extension() != ".py" || !script.has_parent_path()) return {};
  return (of_plan / script.parent_path()).lexically_normal();
}

std::string run_name_of(const plan::Workload& workload, const plan::Row& row) {
  return row.name.empty() ? recorded_name_of(workload, row) : row.name;
}

std::string recorded_name_of(const plan::Workload& workload, const plan::Row& row) {
  std::string name = "(" + workload.recorded_name();
  if (!row.letter.empty()) name += " " + row.letter;
  name += ")";
  if (!row.name.empty()) return name + " " + row.name;
  if (!row.command.empty()) name += " " + std::filesystem::path(row.command[0]).stem().string();
  return name;
}

plan::Pairs tags_of(const PlanFacts& plan, const RunPlace& place) {
  const plan::Row& row = place.row;
  plan::Pairs tags = row.tags;
  const auto add = [&](std::string key, std::string value) {
    if (!value.empty()) tags.emplace_back(std::move(key), std::move(value));
  };
  add("corral.plan", plan.id);
  add("corral.plan.file", plan.file);
  add("corral.plan.row", row.key);
  add("corral.plan.repetition", std::to_string(place.workload.repetition));
  add("corral.collocation", row.collocation);
  if (!row.share.devices.empty()) add("corral.devices", devices_json(row.share, place.seat));
  add("corral.cpus",
      collocate::format_cpus(place.seat.cpus.empty() ? row.share.cpus : place.seat.cpus));
  add("corral.letter", row.letter);
  if (row.baseline) add("corral.baseline", "1");
  if (row.loop) add("corral.loop", "1");
  add("mlflow.parentRunId", place.parent);
  return tags;
}

std::filesystem::path ready_place(const PlanFacts& plan, const std::string& first) {
  return plan.ready.empty() ? plan.ready : plan.ready / first;
}

Order order_of(const PlanFacts& plan, const RunPlace& place) {
  const plan::Row& row = place.row;
  Order order{.run = place.run,
              .arguments = plan.arguments,
              .environment = plan.environment,
              .directory = plan.directory,
              .gated = !place.restart};
  std::vector<std::string>& words = order.arguments;
  words.insert(
      words.end(),
      {"--quiet", "--run-id", place.run, "--experiment", place.workload.experiment, "--workload",
       place.workload.recorded_name(), "--name", recorded_name_of(place.workload, row)});
  for (const auto& [key, value] : row.params)
    words.insert(words.end(), {"--param", fmt::format("{}={}", key, value)});
  for (const auto& [key, value] : tags_of(plan, place))
    words.insert(words.end(), {"--tag", fmt::format("{}={}", key, value)});
  add_place(words, place);
  add_limits(words, row.limits);
  const auto own = own_directory(plan.directory, row);
  if (!own.empty()) words.insert(words.end(), {"--directory", own.string()});
  words.emplace_back("--");
  order.environment.insert(order.environment.end(), place.seat.environment.begin(),
                           place.seat.environment.end());
  // radT's client logs only where radT has started it, and into this run.
  order.environment.insert(order.environment.end(),
                           {"RADT_PRESENT=True", "RADT_RUN_ID=" + place.run});
  const std::size_t runs = place.workload.rows.size();
  if (runs > 1 && !plan.ready.empty()) {
    const auto ready = ready_place(plan, place.parent.empty() ? place.run : place.parent);
    order.environment.push_back(fmt::format("CORRAL_READY={}:{}", ready.string(), runs));
  }
  std::vector<std::string> command = command_of(plan, row);
  if (!own.empty()) command[0] = std::filesystem::path(command[0]).filename().string();
  words.insert(words.end(), command.begin(), command.end());
  for (const auto& [name, value] : row.env)
    order.environment.push_back(fmt::format("{}={}", name, value));
  return order;
}

Order adoption_of(const PlanFacts& plan, const std::string& run, const plan::Limits& limits) {
  Order order{.run = run,
              .arguments = {"--quiet", "--adopt", run},
              .environment = plan.environment,
              .directory = plan.directory,
              .gated = false};
  add_limits(order.arguments, limits);
  return order;
}

}  // namespace corral::run::schedule
