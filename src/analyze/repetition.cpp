#include "analyze/repetition.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "core/json.h"

namespace corral::analyze {
namespace {

constexpr std::size_t kMostRuns = 1000;  // read per workload

// An owner with the conditions under which it ran.
struct Ran {
  std::string host;
  std::string conditions;  // its own, then those of its neighbours in a fixed order
  WorkloadId workload;
  UtcTime start = {}, end = {};
};

bool overlap(const Ran& a, const Ran& b) { return a.start <= b.end && b.start <= a.end; }

Ran ran(const store::Run& run) {
  return {.host = run.host,
          .conditions = run_conditions(run),
          .workload = run.workload,
          .start = run.start,
          .end = run.end.value_or(run.newest)};
}

Result<std::vector<Ran>> runs_of(const store::Reader& store, WorkloadId workload) {
  const auto page = TRY(store.runs({.experiment = {},
                                    .workload = workload,
                                    .status = {},
                                    .before = {},
                                    .limit = kMostRuns,
                                    .facts = true}));
  std::vector<Ran> all;
  for (const store::Run& run : page.runs) all.push_back(ran(run));
  std::ranges::sort(all, {}, &Ran::conditions);
  return all;
}

Result<Ran> owner_of(const store::Reader& store, const store::Series& info, bool of_repetitions) {
  if (info.owner == metric::Owner::kRun) {
    const RunId id = TRY(RunId::parse(info.owner_id));
    const auto run = TRY(store.run(id));
    if (!run) return Ran{};
    Ran own = ran(*run);
    if (!of_repetitions) return own;
    for (const Ran& other : TRY(runs_of(store, run->workload)))
      if (overlap(own, other)) own.conditions += '\n' + other.conditions;
    return own;
  }
  // The id of a series' host has the form of a workload's.
  const WorkloadId workload = TRY(WorkloadId::parse(info.owner_id));
  const std::vector<Ran> runs = TRY(runs_of(store, workload));
  Ran all{.host = runs.empty() ? "" : runs.front().host, .conditions = {}, .workload = workload};
  for (const Ran& run : runs) all.conditions += '\n' + run.conditions;
  return all;
}

// All equal, and none beside another.
bool repeat_one_another(const std::map<std::string, Ran>& owners) {
  std::vector<const Ran*> all;
  all.reserve(owners.size());
  for (const auto& [id, owner] : owners) all.push_back(&owner);
  std::ranges::sort(all, {}, [](const Ran* r) { return std::pair(r->workload, r->start); });
  for (std::size_t i = 1; i < all.size(); ++i) {
    const bool beside = all[i]->workload == all[i - 1]->workload && overlap(*all[i], *all[i - 1]);
    if (beside || all[i]->conditions != all[i - 1]->conditions) return false;
  }
  return true;
}

}  // namespace

bool names_seed(std::string_view name) {
  constexpr std::string_view kSeed = "seed";
  if (name.size() < kSeed.size()) return false;
  const std::string_view end = name.substr(name.size() - kSeed.size());
  return std::ranges::equal(
      end, kSeed, [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

std::string without_seeds(const std::string& command) {
  const Result<Json> words = Json::parse(command);
  if (!words || words->as_array() == nullptr) return command;
  Json::Array kept;
  bool skip = false;
  for (const Json& word : *words->as_array()) {
    const std::string* text = word.as_string();
    const bool value_of_seed = std::exchange(skip, false);
    if (text == nullptr || value_of_seed) continue;
    const std::string_view option = std::string_view(*text).substr(0, text->find('='));
    if (option.starts_with('-') && names_seed(option)) {
      skip = option.size() == text->size();
      continue;
    }
    kept.emplace_back(*text);
  }
  return Json(std::move(kept)).dump();
}

std::string run_conditions(const store::Run& run) {
  std::string text = std::to_string(run.experiment.value) + '\0' + run.host + '\0';
  const auto command =
      std::ranges::find(run.info, "command", &std::pair<std::string, std::string>::first);
  text += command != run.info.end() ? without_seeds(command->second) : run.id.hex();
  for (const auto& [name, value] : run.params) {
    if (names_seed(name)) continue;
    text += '\0';
    text += name;
    text += '\0';
    text += value;
  }
  return text;
}

Result<Ownership> find_ownership(const store::Reader& store, std::span<const store::Series> infos,
                                 bool of_repetitions) {
  std::map<std::string, Ran> owners;
  Ownership all;
  for (const store::Series& info : infos) {
    auto owner = owners.find(info.owner_id);
    if (owner == owners.end())
      owner = owners.emplace(info.owner_id, TRY(owner_of(store, info, of_repetitions))).first;
    all.series.push_back({.owner = info.owner_id,
                          .thing = (info.host.empty() ? owner->second.host : info.host) + '\0' +
                                   info.name + '\0' + info.source});
  }
  all.repetitions = of_repetitions && repeat_one_another(owners);
  return all;
}

}  // namespace corral::analyze
