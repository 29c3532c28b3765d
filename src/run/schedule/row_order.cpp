#include "run/schedule/row_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"

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

void apply_limits(RunSettings& settings, const plan::Limits& limits) {
  if (limits.max_time) settings.max_time = limits.max_time;
  if (limits.max_epochs) settings.max_epochs = std::to_string(*limits.max_epochs);
  if (limits.max_steps) settings.max_steps = std::to_string(*limits.max_steps);
}

// A row's options override its variables, which override the scheduler's options.
RunSettings row_settings(const PlanFacts& plan, const plan::Row& row) {
  RunSettings settings = plan.settings;
  for_each_setting(settings, [&](const char*, const char* variable, auto& setting) {
    if (std::ranges::find(row.env, variable, &plan::Pairs::value_type::first) != row.env.end())
      setting.reset();
  });
  if (row.listeners == plan::kNoListeners) {
    settings.no_listeners = true;
  } else if (!row.listeners.empty()) {
    settings.listeners = row.listeners;
  }
  apply_limits(settings, row.limits);
  return settings;
}

// A program in the plan's folder is found there, although a shell would need "./" before it.
std::vector<std::string> row_command(const PlanFacts& plan, const plan::Row& row) {
  std::vector<std::string> command = row.command;
  if (command.empty()) return command;
  std::string& word = command[0];
  std::error_code error;
  const bool plain = word.find('/') == std::string::npos && !word.ends_with(".py");
  if (plain && std::filesystem::is_regular_file(plan.directory / word, error)) word = "./" + word;
  return command;
}

// One group, or one of each v1 hierarchy, separated by colons.
std::vector<sys::fs::path> split_groups(const std::string& text) {
  std::vector<sys::fs::path> groups;
  for (const std::string_view group : split(text, ':')) groups.emplace_back(group);
  return groups;
}

// Returns the variables of the command: those of all runs, of its seat and of its row, which come
// last.
std::vector<std::string> command_environment(const PlanFacts& plan, const PlannedRun& place) {
  std::vector<std::string> variables = plan.environment;
  const auto& seat = place.seat.environment;
  variables.insert(variables.end(), seat.begin(), seat.end());
  // radT's client logs only inside a run that radT has started, and only into that run.
  variables.insert(variables.end(), {"RADT_PRESENT=True", "RADT_RUN_ID=" + place.run});
  const std::size_t runs = place.workload.rows.size();
  if (runs > 1 && !plan.ready.empty()) {
    const auto ready = ready_directory(plan, place.parent.empty() ? place.run : place.parent);
    variables.push_back(fmt::format("CORRAL_READY={}:{}", ready.string(), runs));
  }
  for (const auto& [name, value] : place.row.env)
    variables.push_back(fmt::format("{}={}", name, value));
  return variables;
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

std::string recorded_name(const plan::Workload& workload, const plan::Row& row) {
  if (!row.name.empty()) return row.name;
  std::string name = "(" + workload.recorded_name();
  if (!row.letter.empty()) name += " " + row.letter;
  name += ")";
  if (!row.command.empty()) name += " " + std::filesystem::path(row.command[0]).stem().string();
  return name;
}

plan::Pairs plan_tags(const PlanFacts& plan, const PlannedRun& place) {
  const plan::Row& row = place.row;
  plan::Pairs tags = row.tags;
  const auto add = [&](std::string key, std::string value) {
    if (!value.empty()) tags.emplace_back(std::move(key), std::move(value));
  };
  add("corral.plan", plan.id);
  add("corral.plan.file", plan.file);
  add("corral.plan.row", row.key);
  add("corral.plan.repetition", std::to_string(place.workload.repetition));
  add("corral.plan.after", join(place.workload.after, "+"));
  add("corral.collocation", row.collocation);
  if (!row.share.devices.empty()) add("corral.devices", devices_json(row.share, place.seat));
  add("corral.cpus", format_cpu_list(place.seat.cpus.empty() ? row.share.cpus : place.seat.cpus));
  add("corral.letter", row.letter);
  if (row.baseline) add("corral.baseline", "1");
  if (row.loop) add("corral.loop", "1");
  add("mlflow.parentRunId", place.parent);
  return tags;
}

std::filesystem::path ready_directory(const PlanFacts& plan, const std::string& first) {
  return plan.ready.empty() ? plan.ready : plan.ready / first;
}

Order make_order(const PlanFacts& plan, const PlannedRun& place) {
  const plan::Row& row = place.row;
  SupervisorOrder document{.run = place.run,
                           .experiment = place.workload.experiment,
                           .workload = place.workload.recorded_name(),
                           .name = recorded_name(place.workload, row),
                           .params = plan.params,
                           .tags = plan.tags,
                           .settings = row_settings(plan, row),
                           .command = row_command(plan, row)};
  document.params.insert(document.params.end(), row.params.begin(), row.params.end());
  const plan::Pairs tags = plan_tags(plan, place);
  document.tags.insert(document.tags.end(), tags.begin(), tags.end());
  if (!row.environment.empty() && row.environment != "-") {
    document.environment = row.environment;
    for (const auto& [name, value] : row.env) document.passed.push_back(name);
  }
  if (!place.seat.cgroup.empty()) document.placement.groups = split_groups(place.seat.cgroup);
  document.placement.cpus = place.seat.cpus;
  document.directory = own_directory(plan.directory, row).string();
  if (!document.directory.empty())
    document.command[0] = std::filesystem::path(document.command[0]).filename().string();
  return {.document = std::move(document),
          .environment = command_environment(plan, place),
          .directory = plan.directory,
          .gated = !place.restart};
}

Order make_adoption_order(const PlanFacts& plan, const std::string& run,
                          const plan::Limits& limits) {
  SupervisorOrder document{.run = run, .adopt = true, .settings = plan.settings};
  apply_limits(document.settings, limits);
  return {.document = std::move(document),
          .environment = plan.environment,
          .directory = plan.directory,
          .gated = false};
}

}  // namespace corral::run::schedule
