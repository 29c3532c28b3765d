#include "cli/ls_plans.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

const Json::Array& items(const Json& answer, const char* name) {
  static const Json::Array none;
  const auto* array = member(answer, name).as_array();
  return array != nullptr ? *array : none;
}

// Each once, in the order of their first.
void add_once(std::vector<std::string>& all, std::string text) {
  if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
}

std::string or_dash(std::string text) { return text.empty() ? "–" : std::move(text); }

// Returns the name of a run within its workload.
std::string short_name(const Json& run) {
  const std::string letter = run.get_string("letter");
  return letter.empty() ? run.get_string("name") : letter;
}

std::string collocations(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& run : items(workload, "members")) add_once(all, run.get_string("collocation"));
  return join(all, ", ");
}

// "0:3g.20gb", "GPU-…", "cpus 0-3"
std::vector<std::string> devices_of(const Json& run) {
  std::vector<std::string> all;
  for (const Json& device : items(run, "devices")) {
    const std::string profile = device.get_string("profile");
    add_once(all, device.get_string("device") + (profile.empty() ? "" : ":" + profile));
  }
  if (const std::string cpus = run.get_string("cpus"); !cpus.empty()) all.push_back("cpus " + cpus);
  return all;
}

std::string devices(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& run : items(workload, "members")) {
    for (std::string& device : devices_of(run)) add_once(all, std::move(device));
  }
  return join(all, ", ");
}

// Returns the name of a run of another workload: "8/0_A".
std::string other_name(const Json& run) {
  const std::string workload = run.get_string("workload");
  return workload.empty() ? run.get_string("name") : workload + "/" + short_name(run);
}

// "gpu0: 0_A + 0_B + 8/0_A; cpus 2-3: …"; instances are named by their device already.
std::string shared(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& place : items(workload, "shared")) {
    std::vector<std::string> names;
    for (const Json& run : items(workload, "members")) {
      const Json id(run.get_string("id"));
      const auto& runs = items(place, "runs");
      if (std::ranges::any_of(runs, [&](const Json& one) { return one.dump() == id.dump(); }))
        names.push_back(short_name(run));
    }
    for (const Json& run : items(place, "others")) names.push_back(other_name(run));
    const std::string kind = place.get_string("kind") == "cpus" ? "cpus " : "";
    all.push_back(kind + place.get_string("name") + ": " + join(names, " + "));
  }
  return join(all, "; ");
}

// "2 finished, 1 out-of-memory"
std::string outcomes(const Json& workload) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Json& run : items(workload, "members")) {
    const std::string outcome = outcome_of(run);
    const auto known = std::ranges::find(counts, outcome, &std::pair<std::string, int>::first);
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(outcome, 1);
    }
  }
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const auto& [outcome, count] : counts) words.push_back(fmt::format("{} {}", count, outcome));
  return join(words, ", ");
}

// Phases of one name within phases of one name: a data wait of a step is none of an evaluation.
struct PhaseSum {
  std::string name;
  std::string within;  // "": no phase is around
  std::int64_t count = 0;
  std::int64_t ended = 0;
  double total_s = 0;    // within the run
  double lengths_s = 0;  // sum over those that ended
  double share = 0;
};

// The name of the phase that is `outward` steps around the innermost of a path.
std::string path_name(const Json::Array& path, std::size_t outward) {
  if (path.size() <= outward) return {};
  const std::string* name = path[path.size() - 1 - outward].as_string();
  return name != nullptr ? *name : std::string();
}

std::vector<PhaseSum> phase_sums(const Json& answer) {
  std::vector<PhaseSum> sums;
  for (const Json& run : items(answer, "runs")) {
    for (const Json& phase : items(run, "phases")) {
      const Json::Array& path = items(phase, "path");
      const std::string name = path_name(path, 0), within = path_name(path, 1);
      auto sum = std::ranges::find_if(
          sums, [&](const PhaseSum& s) { return s.name == name && s.within == within; });
      if (sum == sums.end()) sum = sums.insert(sum, PhaseSum{.name = name, .within = within});
      const std::int64_t ended = phase.get_int("count", 0) - phase.get_int("open", 0);
      sum->count += phase.get_int("count", 0);
      sum->ended += ended;
      sum->total_s += member(phase, "total_s").as_double(0);
      sum->lengths_s += member(phase, "mean_s").as_double(0) * static_cast<double>(ended);
      sum->share += member(phase, "share").as_double(0);
    }
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &PhaseSum::total_s);
  return sums;
}

}  // namespace

Table phase_summary(const Json& answer) {
  Table table({{"name", "NAME"},
               {"within", "WITHIN"},
               {"count", "COUNT", true},
               {"total_s", "TOTAL", true},
               {"mean_s", "MEAN", true},
               {"share", "OF THE RUN", true}});
  for (const PhaseSum& sum : phase_sums(answer)) {
    const Json total(sum.total_s);
    const Json mean = sum.ended > 0 ? Json(sum.lengths_s / static_cast<double>(sum.ended)) : Json();
    table.add({plain(sum.name),
               plain(sum.within),
               plain(Json(sum.count)),
               {total, precise_duration_text(total)},
               {mean, precise_duration_text(mean)},
               {Json(sum.share), fmt::format("{:.1f} %", sum.share * 100)}});
  }
  return table;
}

std::string outcome_of(const Json& run) {
  std::string status = run.get_string("status");
  std::string outcome = run.get_string("outcome");
  return outcome.empty() || status == "running" ? status : outcome;
}

Table workloads_table(const Json& answer) {
  Table table({{"id", "ID"},
               {"experiment", "EXPERIMENT"},
               {"name", "NAME"},
               {"runs", "RUNS", true},
               {"collocation", "COLLOCATION"},
               {"devices", "DEVICES"},
               {"shared", "SHARED"},
               {"outcomes", "OUTCOME"},
               {"experiment_id", "EXPERIMENT ID", true},
               {"created_ns", "CREATED"}});
  for (const Json& w : items(answer, "workloads")) {
    const auto runs = static_cast<std::int64_t>(items(w, "runs").size());
    table.add({{member(w, "id"), w.get_string("id").substr(0, 8)},
               plain(member(w, "experiment")),
               plain(member(w, "name")),
               {member(w, "runs"), std::to_string(runs)},
               {collocations(w), or_dash(collocations(w))},
               {devices(w), or_dash(devices(w))},
               {shared(w), or_dash(shared(w))},
               {outcomes(w), or_dash(outcomes(w))},
               plain(member(w, "experiment_id")),
               {member(w, "created_ns"), time_text(member(w, "created_ns"))}});
  }
  return table;
}

Table plans_table(const Json& answer) {
  Table table({{"id", "ID"},
               {"file", "FILE"},
               {"host", "HOST"},
               {"state", "STATE"},
               {"runs", "RUNS", true},
               {"workloads", "WORKLOADS", true},
               {"counts", "BY STATE"},
               {"message", "MESSAGE"},
               {"updated_ns", "UPDATED"}});
  for (const Json& p : items(answer, "plans")) {
    std::vector<std::string> counts;
    if (const auto* states = member(p, "counts").as_object()) {
      for (const auto& [state, count] : *states)
        counts.push_back(fmt::format("{} {}", plain(count).text, state));
    }
    const Json& message = member(p, "message");
    table.add({{member(p, "id"), p.get_string("id").substr(0, 8)},
               plain(member(p, "file")),
               plain(member(p, "host")),
               plain(member(p, "state")),
               plain(member(p, "runs")),
               plain(member(p, "workloads")),
               {member(p, "counts"), or_dash(join(counts, ", "))},
               {message, or_dash(p.get_string("message"))},
               {member(p, "updated_ns"), time_text(member(p, "updated_ns"))}});
  }
  return table;
}

}  // namespace corral::cli
