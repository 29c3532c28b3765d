#include "analyze/collocation/collocation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr double kCollocationConfidence = 0.95;
constexpr std::string_view kGpuEnergy = "host.gpu.energy", kGpuProcesses = "run.gpu.processes";

double mean_value(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// ---- what a run is

std::string run_tag(const store::Run& run, std::string_view key) {
  const auto found = std::ranges::find(run.tags, key, [](const auto& tag) { return tag.first; });
  return found != run.tags.end() ? found->second : "";
}

bool is_profile(std::string_view sharing) { return sharing.find("g.") != std::string_view::npos; }

// The part of the hardware: a MIG profile, a part of the threads of MPS, some CPUs.
std::string hardware_part(const store::Run& run) {
  std::string place = run_tag(run, "corral.collocation");
  for (const char* whole : {"-", "naive", "timeslicing", "mps"})
    if (place == whole) place.clear();
  if (const auto cpus = parse_cpu_list(run_tag(run, "corral.cpus")); cpus && !cpus->empty())
    place += fmt::format("{}{} CPUs", place.empty() ? "" : ", ", cpus->size());
  return place;
}

std::string sharing_of(const store::Run& run) {
  const std::string tag = run_tag(run, "corral.collocation");
  if (is_profile(tag)) return "mig";
  if (tag.starts_with("mps")) return "mps";
  return tag.empty() || tag == "-" ? "together" : tag;
}

std::string command_text(const store::Run& run) {
  std::string text;
  for (const auto& [key, value] : run.info) {
    const auto words = key == "command" ? Json::parse(value) : Result<Json>();
    if (!words || words->as_array() == nullptr) continue;
    for (const Json& word : *words->as_array())
      text += (text.empty() ? "" : " ") + (word.as_string() != nullptr ? *word.as_string() : "");
  }
  return text;
}

// Power of the GPUs on which the runs had processes, each once; nullopt: not known for all.
Result<std::optional<double>> read_watts(const store::Reader& store,
                                         std::span<const store::Run* const> runs, Window window) {
  constexpr auto kMetrics = std::to_array<std::string_view>({kGpuEnergy, kGpuProcesses});
  std::map<std::pair<std::string, std::string>, double> power;
  for (const store::Run* run : runs) {
    const RunData data = TRY(RunData::read(store, *run, window, kMetrics));
    for (const MetricMean& processes : data.all_of(kGpuProcesses)) {
      if (processes.mean <= 0) continue;
      // An instance has no power of its own.
      const std::string gpu = processes.source.substr(0, processes.source.find(".mig"));
      const MetricMean* energy = data.of_source(kGpuEnergy, gpu);
      if (energy == nullptr) return std::nullopt;
      power[{run->host, gpu}] = energy->mean;
    }
  }
  if (power.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [gpu, watts] : power) sum += watts;
  return sum;
}

// ---- comparing

class PlaceComparison {
 public:
  explicit PlaceComparison(std::vector<std::string> jobs) { found_.jobs = std::move(jobs); }

  Collocation compare(std::vector<MeasuredRuns> all) && {
    for (const MeasuredRuns& unit : all)
      if (unit.runs.size() == 1 && unit.beside == 0) add_alone(unit);
    for (auto& [key, job] : alone_) {
      job.step_s = std::exp(mean_value(job.step_logs));
      job.duration_s /= static_cast<double>(job.step_logs.size());
      if (job.watts) *job.watts /= static_cast<double>(job.step_logs.size());
      found_.alone.push_back(job);
    }
    for (MeasuredRuns& unit : all)
      if (unit.runs.size() > 1) add_cell(std::move(unit));
    for (auto& [key, configuration] : configurations_)
      found_.configurations.push_back(finish(std::move(configuration)));
    found_.missing.assign(missing_.begin(), missing_.end());
    return std::move(found_);
  }

 private:
  using AloneKey = std::tuple<std::size_t, std::string, std::string>;  // job, host, place
  // Sharing, host, and job and place of each run.
  using ConfigurationKey =
      std::tuple<std::string, std::string, std::vector<std::pair<std::size_t, std::string>>>;

  void add_alone(const MeasuredRuns& unit) {
    const PlacedRun& run = unit.runs.front();
    if (!run.step_s) return;
    const auto [at, fresh] = alone_.try_emplace({run.job, run.host, run.place});
    AloneJob& job = at->second;
    if (fresh) {
      job.job = run.job;
      job.host = run.host;
      job.place = run.place;
      job.watts = 0;
    }
    job.step_logs.push_back(std::log(*run.step_s));
    job.duration_s += run.duration_s;
    job.watts = job.watts && unit.watts ? std::optional(*job.watts + *unit.watts) : std::nullopt;
  }

  const AloneJob* find_alone(const PlacedRun& run, const std::string& place) const {
    const auto found = alone_.find({run.job, run.host, place});
    return found == alone_.end() ? nullptr : &found->second;
  }

  void add_cell(MeasuredRuns&& unit) {
    Cell cell{.workload = std::move(unit.workload),
              .sharing = std::move(unit.sharing),
              .runs = std::move(unit.runs),
              .window = unit.window,
              .reason = std::move(unit.reason),
              .makespan_s = unit.makespan_s,
              .watts = unit.watts};
    std::ranges::stable_sort(cell.runs, {}, &PlacedRun::job);
    for (PlacedRun& run : cell.runs) compare_run(run);
    if (cell.reason.empty()) measure(cell);
    ConfigurationKey key{cell.sharing, cell.runs.front().host, {}};
    for (const PlacedRun& run : cell.runs) std::get<2>(key).emplace_back(run.job, run.place);
    std::ranges::sort(std::get<2>(key));
    const auto [at, fresh] = configurations_.try_emplace(key);
    if (fresh) {
      at->second.sharing = cell.sharing;
      at->second.host = cell.runs.front().host;
      for (const auto& [job, place] : std::get<2>(key)) {
        at->second.jobs.push_back(job);
        at->second.places.push_back(place);
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

  void measure(Cell& cell) const {
    double sum = 0, inverse = 0, least_progress = 0, most_progress = 0;
    double serial = 0, alone_watts = 0;
    bool slow = true, timed = true, powered = cell.watts.has_value();
    for (const PlacedRun& run : cell.runs) {
      slow = slow && run.slowdown;
      const AloneJob* whole = find_alone(run, "");
      timed = timed && whole != nullptr;
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
    if (timed && cell.makespan_s > 0) cell.speedup = serial / cell.makespan_s;
    if (powered && alone_watts > 0) cell.energy = *cell.watts / alone_watts;
  }

  std::optional<double> mean_over(const Configuration& configuration,
                                  std::optional<double> Cell::*member) const {
    std::vector<double> logs;
    for (const std::size_t cell : configuration.cells)
      if (const auto& value = found_.cells[cell].*member) logs.push_back(std::log(*value));
    return logs.empty() ? std::nullopt : std::optional(std::exp(mean_value(logs)));
  }

  Configuration finish(Configuration&& configuration) const {
    for (const std::size_t cell : configuration.cells)
      configuration.measured += found_.cells[cell].reason.empty() ? 1 : 0;
    configuration.throughput = mean_over(configuration, &Cell::throughput);
    configuration.turnaround = mean_over(configuration, &Cell::turnaround);
    configuration.fairness = mean_over(configuration, &Cell::fairness);
    configuration.speedup = mean_over(configuration, &Cell::speedup);
    configuration.energy = mean_over(configuration, &Cell::energy);
    std::set<std::pair<std::size_t, std::string>> places;
    for (const PlacedRun& run : found_.cells[configuration.cells.front()].runs)
      places.emplace(run.job, run.place);
    for (const auto& [job, place] : places)
      configuration.disturbances.push_back(disturbance(configuration, job, place));
    return std::move(configuration);
  }

  // Copies of a job in a cell give one value.
  Disturbance disturbance(const Configuration& configuration, std::size_t job,
                          const std::string& place) const {
    Disturbance found;
    found.job = job;
    found.place = place;
    found.beside = configuration.jobs;
    found.beside.erase(std::ranges::find(found.beside, job));
    std::vector<double> logs;
    for (const std::size_t cell : configuration.cells) {
      std::vector<double> copies;
      for (const PlacedRun& run : found_.cells[cell].runs)
        if (run.job == job && run.place == place && run.step_s)
          copies.push_back(std::log(*run.step_s));
      if (!copies.empty()) logs.push_back(mean_value(copies));
    }
    const auto whole = alone_.find({job, configuration.host, ""});
    const std::vector<double> none;
    const std::vector<double>& alone = whole != alone_.end() ? whole->second.step_logs : none;
    found.alone = alone.size();
    found.together = logs.size();
    found.slowdown = interval_of(log_ratio_of_groups(alone, logs), kCollocationConfidence);
    return found;
  }

  Collocation found_;
  std::map<AloneKey, AloneJob> alone_;
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
      members.push_back(&run);
      const std::string text = options.job ? options.job(run) : command_text(run);
      const auto [number, fresh] = numbers.try_emplace(text, jobs.size());
      if (fresh) jobs.push_back(text);
      const UtcTime run_end = run.end.value_or(run.newest);
      end = std::max(end, run_end);
      const std::string outcome = run_tag(run, "corral.outcome");
      measured.runs.push_back(
          {.id = run.id,
           .name = run.name,
           .host = run.host,
           .outcome = outcome.empty() ? std::string(store::status_name(run.status)) : outcome,
           .job = number->second,
           .place = hardware_part(run),
           .step_s = one.step_s,
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
