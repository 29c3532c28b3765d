#include "analyze/collocation/collocation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/compare/set_up.h"
#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr double kCollocationConfidence = 0.95;
constexpr std::string_view kGpuEnergy = "host.gpu.energy", kGpuProcesses = "run.gpu.processes";

// ---- what a run is

bool is_profile(std::string_view sharing) { return sharing.find("g.") != std::string_view::npos; }

// Percent of the threads in "mps=50" or "mps:threads=50;memory=8G"; 100 if it does not say.
std::int64_t percent_of_threads(const std::string& mps) {
  const std::size_t equals = mps.find("threads=");
  const std::string number = equals != std::string::npos
                                 ? mps.substr(equals + 8)
                                 : mps.substr(std::min(mps.size(), std::size_t{4}));
  const auto percent = parse_int(number.substr(0, number.find_first_not_of("0123456789")));
  return percent && *percent > 0 ? *percent : 100;
}

// As a plan's cell may be spelled: "MPS", "time-slicing", "nan" of radT.
std::string sharing_of(const store::Run& run) {
  std::string tag = lower_ascii(tag_text(run, "corral.collocation"));
  std::erase_if(tag, [](char c) { return c == '-' || c == '_' || c == ' '; });
  if (is_profile(tag)) return "mig";
  if (tag.starts_with("mps")) return "mps";
  return tag.empty() || tag == "nan" ? "naive" : tag;
}

struct Devices {
  std::size_t whole = 0;
  std::string instance;  // its profile, else its name; empty: none
};
Devices devices_of(const store::Run& run) {
  Devices devices;
  const auto list = Json::parse(tag_text(run, "corral.devices"));
  if (!list || list->as_array() == nullptr) return devices;
  for (const Json& one : *list->as_array()) {
    std::string instance = one.get_string("instance"), profile = one.get_string("profile");
    if (instance.empty() && one.get_string("device").starts_with("MIG-"))
      instance = one.get_string("device");
    if (instance.empty())
      ++devices.whole;
    else
      devices.instance = profile.empty() ? instance : profile;
  }
  return devices;
}

// The part of the hardware: a MIG profile, a part of the threads of MPS, some CPUs.
std::string hardware_part(const store::Run& run) {
  const std::string tag = lower_ascii(tag_text(run, "corral.collocation"));
  std::string part;
  if (is_profile(tag)) {
    part = tag;
  } else if (!devices_of(run).instance.empty()) {
    part = devices_of(run).instance;
  } else if (tag.starts_with("mps") && percent_of_threads(tag) < 100) {
    part = fmt::format("mps={}", percent_of_threads(tag));
  }
  if (const auto cpus = parse_cpu_list(tag_text(run, "corral.cpus")); cpus && !cpus->empty())
    part += fmt::format("{}{} CPU{}", part.empty() ? "" : ", ", cpus->size(),
                        cpus->size() == 1 ? "" : "s");
  return part;
}

std::string machine_of(const store::Run& run) {
  const std::size_t whole = devices_of(run).whole;
  return whole > 1 ? fmt::format("{}, {} GPUs", run.host, whole) : run.host;
}

// Power of the GPUs on which the runs had processes, each once; nullopt: not known for all.
Result<std::optional<double>> read_watts(const store::Reader& store,
                                         std::span<const store::Run* const> runs, Window window) {
  constexpr auto kMetrics = std::to_array<std::string_view>({kGpuEnergy, kGpuProcesses});
  std::map<std::pair<std::string, std::string>, double> power;
  for (const store::Run* run : runs) {
    const RunData data = TRY(RunData::read(store, *run, window, kMetrics));
    bool found = false;
    for (const MetricMean& processes : data.all_of(kGpuProcesses)) {
      if (processes.mean <= 0) continue;
      // An instance has no power of its own.
      const std::string gpu = processes.source.substr(0, processes.source.find(".mig"));
      const MetricMean* energy = data.of_source(kGpuEnergy, gpu);
      if (energy == nullptr || energy->mean <= 0) return std::nullopt;
      power[{run->host, gpu}] = energy->mean;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  double sum = 0;
  for (const auto& [gpu, watts] : power) sum += watts;
  return sum;
}

// ---- comparing

// The slices and gigabytes of a MIG instance ("3g.20gb"); 0: the place is none.
std::pair<std::int64_t, std::int64_t> size_of_slice(std::string_view place) {
  const std::size_t end = place.find("g.");
  if (end == std::string_view::npos) return {};
  const std::string_view memory = place.substr(end + 2);
  return {parse_int(place.substr(0, end)).value_or(0),
          parse_int(memory.substr(0, memory.find('g'))).value_or(0)};
}

class PlaceComparison {
 public:
  explicit PlaceComparison(std::vector<std::string> jobs) { found_.jobs = std::move(jobs); }

  Collocation compare(std::vector<MeasuredRuns> all) && {
    for (MeasuredRuns& unit : all)
      if (unit.runs.size() == 1 && unit.beside == 0) add_alone(unit);
    for (auto& [key, job] : alone_) {
      job.step_s = std::exp(mean_of_logs(job.step_logs));
      job.duration_s /= static_cast<double>(job.step_logs.size());
      job.steps /= static_cast<double>(job.step_logs.size());
      if (job.watts) *job.watts /= static_cast<double>(job.step_logs.size());
    }
    compare_parts();
    for (const auto& [key, job] : alone_) found_.alone.push_back(job);
    for (MeasuredRuns& unit : all)
      if (unit.runs.size() > 1) add_cell(std::move(unit));
    for (auto& [key, configuration] : configurations_)
      found_.configurations.push_back(finish(std::move(configuration)));
    found_.missing.assign(missing_.begin(), missing_.end());
    return std::move(found_);
  }

 private:
  // Job, place and host of a run.
  using Placing = std::tuple<std::size_t, std::string, std::string>;
  using ConfigurationKey = std::pair<std::string, std::vector<Placing>>;

  void add_alone(MeasuredRuns& unit) {
    PlacedRun& run = unit.runs.front();
    if (!unit.reason.empty() || !run.step_s) {
      found_.unmeasured.push_back({.run = std::move(run), .reason = std::move(unit.reason)});
      return;
    }
    const auto [at, fresh] = alone_.try_emplace({run.job, run.place, run.host});
    AloneJob& job = at->second;
    if (fresh) {
      job.job = run.job;
      job.host = run.host;
      job.place = run.place;
      job.watts = 0;
    }
    job.step_logs.push_back(std::log(*run.step_s));
    job.duration_s += run.duration_s;
    job.steps += static_cast<double>(run.steps);
    job.watts = job.watts && unit.watts ? std::optional(*job.watts + *unit.watts) : std::nullopt;
  }

  void compare_parts() {
    std::map<std::pair<std::size_t, std::string>, AloneJob*> smallest;
    for (auto& [key, job] : alone_) {
      if (const auto whole = alone_.find({job.job, "", job.host}); whole != alone_.end())
        job.against_all = job.step_s / whole->second.step_s;
      if (size_of_slice(job.place).first == 0) continue;
      AloneJob*& least = smallest[{job.job, job.host}];
      if (least == nullptr || size_of_slice(job.place) < size_of_slice(least->place)) least = &job;
    }
    for (const auto& [key, job] : smallest) job->smallest_slice = true;
  }

  const AloneJob* find_alone(const PlacedRun& run, const std::string& place) const {
    const auto found = alone_.find({run.job, place, run.host});
    return found == alone_.end() ? nullptr : &found->second;
  }

  void add_cell(MeasuredRuns&& unit) {
    Cell cell{.workload = std::move(unit.workload),
              .sharing = std::move(unit.sharing),
              .runs = std::move(unit.runs),
              .window = unit.window,
              .reason = std::move(unit.reason),
              .makespan_s = unit.makespan_s,
              .rounds_left_out = unit.rounds_left_out,
              .watts = unit.watts};
    if (unit.beside > 0 && cell.reason.empty())
      cell.reason =
          fmt::format("{} more run{} of its workload, not among these, {} beside it", unit.beside,
                      unit.beside == 1 ? "" : "s", unit.beside == 1 ? "was" : "were");
    std::ranges::stable_sort(cell.runs, {}, &PlacedRun::job);
    for (PlacedRun& run : cell.runs) {
      if (!cell.reason.empty()) run.step_s.reset();
      compare_run(run);
    }
    if (cell.reason.empty()) measure(cell);
    ConfigurationKey key{cell.sharing, {}};
    for (const PlacedRun& run : cell.runs) key.second.emplace_back(run.job, run.place, run.host);
    std::ranges::sort(key.second);
    const auto [at, fresh] = configurations_.try_emplace(key);
    if (fresh) {
      at->second.sharing = cell.sharing;
      for (const auto& [job, place, host] : key.second) {
        at->second.jobs.push_back(job);
        at->second.places.push_back(place);
        at->second.hosts.push_back(host);
      }
    }
    at->second.cells.push_back(found_.cells.size());
    found_.cells.push_back(std::move(cell));
  }

  void compare_run(PlacedRun& run) {
    const AloneJob* whole = find_alone(run, "");
    const AloneJob* part = find_alone(run, run.place);
    if (whole == nullptr) miss(run, "");
    if (part == nullptr && !run.place.empty()) miss(run, run.place);
    if (!run.step_s) return;
    if (whole != nullptr) run.slowdown = *run.step_s / whole->step_s;
    if (part != nullptr) run.interference = *run.step_s / part->step_s;
    if (whole != nullptr && part != nullptr && !run.place.empty())
      run.capacity = part->step_s / whole->step_s;
  }

  void miss(const PlacedRun& run, const std::string& place) {
    const auto elsewhere = std::ranges::find_if(found_.alone, [&](const AloneJob& job) {
      return job.job == run.job && job.place == place;
    });
    missing_.insert(
        fmt::format("no run of {} alone on {}{}{}", job_letters(run.job),
                    place.empty() ? "all of " : place + " of ", run.host,
                    elsewhere == found_.alone.end() ? "" : ", only on " + elsewhere->host));
  }

  // Durations of unequal work are no gain.
  static bool has_steps_of(const PlacedRun& run, const AloneJob& alone) {
    constexpr double kSameSteps = 0.05;
    const double steps = static_cast<double>(run.steps);
    return steps > 0 && std::abs(steps - alone.steps) <= kSameSteps * alone.steps;
  }

  void measure(Cell& cell) const {
    double sum = 0, inverse = 0, least_progress = 0, most_progress = 0;
    double serial = 0, alone_watts = 0;
    bool slow = true, timed = true, powered = cell.watts.has_value();
    for (const PlacedRun& run : cell.runs) {
      slow = slow && run.slowdown;
      const AloneJob* whole = find_alone(run, "");
      timed = timed && whole != nullptr && has_steps_of(run, *whole);
      powered = powered && whole != nullptr && whole->watts && run.step_s;
      if (whole != nullptr) serial += whole->duration_s;
      if (powered) alone_watts += *whole->watts * whole->step_s / *run.step_s;
      if (!slow) continue;
      const double progress = 1 / *run.slowdown;
      sum += *run.slowdown;
      least_progress = inverse == 0 ? progress : std::min(least_progress, progress);
      most_progress = std::max(most_progress, progress);
      inverse += progress;
    }
    if (slow) {
      cell.throughput = inverse;
      cell.turnaround = sum / static_cast<double>(cell.runs.size());
      cell.fairness = least_progress / most_progress;
    }
    if (timed && cell.makespan_s > 0 && cell.rounds_left_out == 0)
      cell.speedup = serial / cell.makespan_s;
    if (powered && alone_watts > 0) cell.energy = *cell.watts / alone_watts;
  }

  std::optional<double> mean_over(const Configuration& configuration,
                                  std::optional<double> Cell::*member) const {
    std::vector<double> logs;
    for (const std::size_t cell : configuration.cells)
      if (const auto& value = found_.cells[cell].*member) logs.push_back(std::log(*value));
    return logs.empty() ? std::nullopt : std::optional(std::exp(mean_of_logs(logs)));
  }

  Configuration finish(Configuration&& configuration) const {
    for (const std::size_t cell : configuration.cells)
      configuration.measured += found_.cells[cell].reason.empty() ? 1 : 0;
    configuration.throughput = mean_over(configuration, &Cell::throughput);
    configuration.turnaround = mean_over(configuration, &Cell::turnaround);
    configuration.fairness = mean_over(configuration, &Cell::fairness);
    configuration.speedup = mean_over(configuration, &Cell::speedup);
    configuration.energy = mean_over(configuration, &Cell::energy);
    std::set<Placing> placings;
    for (const PlacedRun& run : found_.cells[configuration.cells.front()].runs)
      placings.emplace(run.job, run.place, run.host);
    for (const Placing& placing : placings)
      configuration.disturbances.push_back(disturbance(configuration, placing));
    return std::move(configuration);
  }

  // Copies of a job in a cell give one value.
  [[nodiscard]] Disturbance disturbance(const Configuration& configuration,
                                        const Placing& placing) const {
    Disturbance found;
    std::tie(found.job, found.place, found.host) = placing;
    found.beside = configuration.jobs;
    found.beside.erase(std::ranges::find(found.beside, found.job));
    std::vector<double> logs;
    for (const std::size_t cell : configuration.cells) {
      std::vector<double> copies;
      for (const PlacedRun& run : found_.cells[cell].runs)
        if (Placing(run.job, run.place, run.host) == placing && run.step_s)
          copies.push_back(std::log(*run.step_s));
      if (!copies.empty()) logs.push_back(mean_of_logs(copies));
    }
    const auto whole = alone_.find({found.job, "", found.host});
    const std::vector<double> none;
    const std::vector<double>& alone = whole != alone_.end() ? whole->second.step_logs : none;
    found.alone = alone.size();
    found.together = logs.size();
    found.slowdown = interval_of(log_ratio_of_groups(alone, logs), kCollocationConfidence);
    return found;
  }

  Collocation found_;
  std::map<Placing, AloneJob> alone_;
  std::map<ConfigurationKey, Configuration> configurations_;
  std::set<std::string> missing_;
};

}  // namespace

std::string job_letters(std::size_t job) {
  constexpr std::size_t kLetters = 26;
  std::string letters(1, static_cast<char>('A' + job % kLetters));
  for (; job >= kLetters; letters.insert(letters.begin(), static_cast<char>('A' + job % kLetters)))
    job = job / kLetters - 1;
  return letters;
}

Collocation compare_places(std::vector<std::string> jobs, std::vector<MeasuredRuns> all) {
  return PlaceComparison(std::move(jobs)).compare(std::move(all));
}

Result<Collocation> read_collocation(const store::Reader& store, std::span<const store::Run> runs,
                                     const CollocationOptions& options) {
  std::map<RunId, const store::Run*> by_id;
  for (const store::Run& run : runs) by_id.emplace(run.id, &run);
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> jobs;
  std::vector<MeasuredRuns> all;
  for (const UnitValue& unit : TRY(read_units(store, runs, {.value = {}, .left = options.left}))) {
    TRY(check_waiting(options.left));
    MeasuredRuns measured{.workload = unit.name,
                          .sharing = {},
                          .runs = {},
                          .beside = unit.beside,
                          .window = unit.window,
                          .reason = unit.reason,
                          .watts = {}};
    std::vector<const store::Run*> members;
    UtcTime end = unit.start;
    for (const UnitRun& one : unit.runs) {
      const store::Run& run = *by_id.at(one.id);
      const UtcTime run_end = run.end.value_or(run.newest);
      end = std::max(end, run_end);
      if (one.left_out) {
        ++measured.rounds_left_out;
        continue;
      }
      members.push_back(&run);
      std::string text = options.job ? options.job(run) : fact_text(run, "command");
      if (text.empty()) {
        measured.reason =
            options.job ? "it does not have what tells jobs apart" : "its command was not recorded";
        text = "not known";
      }
      const auto [number, fresh] = numbers.try_emplace(text, jobs.size());
      if (fresh) jobs.push_back(text);
      const std::string outcome = tag_text(run, "corral.outcome");
      measured.runs.push_back(
          {.id = run.id,
           .name = run.name,
           .outcome = outcome.empty() ? std::string(store::status_name(run.status)) : outcome,
           .host = machine_of(run),
           .job = number->second,
           .place = hardware_part(run),
           .step_s = one.step_s,
           .steps = one.steps,
           .unsteady = one.unsteady,
           .duration_s = seconds(run_end - run.start)});
    }
    measured.sharing = sharing_of(*members.front());
    measured.makespan_s = seconds(end - unit.start);
    if (unit.value) measured.watts = TRY(read_watts(store, members, unit.window));
    all.push_back(std::move(measured));
  }
  return compare_places(std::move(jobs), std::move(all));
}

}  // namespace corral::analyze
