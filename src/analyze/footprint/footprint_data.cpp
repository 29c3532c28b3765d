#include "analyze/footprint/footprint_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "analyze/footprint/efficiency.h"
#include "analyze/sharing.h"
#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"
#include "query/series/inputs.h"
#include "query/series/window.h"
#include "store/tables/sharing.h"

namespace corral::analyze {
namespace {

using store::page::SharingRun;

// A counter's increment is known however long it was not read; power is not.
constexpr Nanos kMostCounterGap = std::chrono::hours(1);
constexpr Nanos kMostGaugeGap = std::chrono::seconds(10);
constexpr std::uint64_t kMostColumnPoints = 1'000'000;  // beyond, a series comes from its pyramid
constexpr std::size_t kMostReadNeighbours = 64;
constexpr std::int64_t kMostIdleRuns = 10;  // are looked at

constexpr auto kUseMetrics = std::to_array<std::string_view>(
    {"host.gpu.sm.active", "host.gpu.busy", "host.gpu.mig.sm.active", "host.cpu.busy",
     "run.cpu.used", "run.gpu.processes", "run.gpu.busy"});
constexpr auto kMeansWanted = std::to_array<std::string_view>(
    {"cgroup.cpu.limit", "cgroup.memory.limit", "cgroup.memory.used", "run.memory.rss"});
constexpr auto kNeighbourMetrics =
    std::to_array<std::string_view>({"run.gpu.processes", "run.gpu.busy"});
// A metric of a script that counts the samples so far, and a parameter that says how many a step
// has.
constexpr auto kSampleMetrics = std::to_array<std::string_view>(
    {"samples", "samples_seen", "num_samples", "consumed_samples", "train/samples"});
constexpr auto kBatchParams = std::to_array<std::string_view>(
    {"batch_size", "batch-size", "train_batch_size", "train-batch-size"});

bool is_energy_metric(std::string_view name) {
  return std::ranges::find(kEnergyMetrics, name, &EnergyMetric::metric) != kEnergyMetrics.end();
}

query::IntegralOptions options_for(const store::Series& series) {
  const bool counter = series.kind == metric::Kind::kCounter;
  // A reading of power is a mean since the one before.
  const bool backward = counter || is_energy_metric(series.name);
  return {.rule = backward ? query::IntegralRule::kBackward : query::IntegralRule::kTrapezoid,
          .max_gap = counter ? kMostCounterGap : kMostGaugeGap,
          .max_points = kMostColumnPoints};
}

struct Columns {
  Window window;
  std::uint32_t count = kEnergyColumns;
  Left left = {};
};

Result<std::vector<ColumnSeries>> read_columns(const store::Reader& store,
                                               const std::vector<store::Series>& series,
                                               const Columns& wanted) {
  std::vector<query::SeriesInput> inputs;
  inputs.reserve(series.size());
  for (const store::Series& one : series)
    inputs.push_back({.series = one.id,
                      .channel = one.kind == metric::Kind::kCounter ? store::Channel::kRate
                                                                    : store::Channel::kValue});
  std::vector<ColumnSeries> all;
  const auto read_one = [&](store::PointView& view, std::size_t i) -> Result<> {
    TRY(check_waiting(wanted.left));
    auto found = TRY(query::integrate(view, {.series = {inputs[i]},
                                             .grid = {.from = ns_of(wanted.window.from),
                                                      .to = ns_of(wanted.window.to),
                                                      .columns = wanted.count},
                                             .options = options_for(series[i])}));
    all.push_back({.metric = series[i].name,
                   .source = series[i].source,
                   .cells = std::move(found.front().cells)});
    return {};
  };
  TRY(query::view_each(store, inputs, read_one));
  return all;
}

// Series of the run itself and of its host that `wanted` chooses by name.
template <class Wanted>
Result<std::vector<store::Series>> choose_series(const store::Reader& store, RunId run,
                                                 const std::string& host, Wanted wanted) {
  std::vector<store::Series> all = TRY(store.series_of(run));
  std::erase_if(all, [&](const store::Series& series) {
    const bool elsewhere = series.owner == metric::Owner::kHost && series.host != host;
    return elsewhere || !wanted(series.name);
  });
  return all;
}

bool overlap(const SharingRun& a, Window b) { return a.start < b.to && a.end > b.from; }

// ---- runs beside it

Result<std::vector<SharingRun>> runs_beside(store::Reading& reading, RunId id, WorkloadId workload,
                                            Window window) {
  std::vector<SharingRun> runs = TRY(store::page::runs_of_workload(reading, workload));
  const auto self = std::ranges::find(runs, id, &SharingRun::id);
  if (self == runs.end()) return std::vector<SharingRun>();
  std::rotate(runs.begin(), self, self + 1);
  auto others = TRY(store::page::neighbours_of(reading, workload, {runs.front()}));
  std::ranges::move(others, std::back_inserter(runs));
  const std::string host = runs.front().host;
  runs.erase(std::remove_if(
                 runs.begin() + 1, runs.end(),
                 [&](const SharingRun& run) { return run.host != host || !overlap(run, window); }),
             runs.end());
  return runs;
}

std::vector<GivenDevice> devices_given(const Sharing& sharing, std::size_t run) {
  std::vector<GivenDevice> devices;
  for (const SharedPlace& place : sharing.places) {
    const bool device = place.kind == PlaceKind::kDevice || place.kind == PlaceKind::kInstance;
    if (device && std::ranges::find(place.stays, run, &Stay::run) != place.stays.end())
      devices.push_back({.source = place.name, .profile = place.profile});
  }
  return devices;
}

double cpus_given(const SharingRun& run) {
  const auto cpus = parse_cpu_list(store::page::tag_of(run, "corral.cpus"));
  return cpus ? static_cast<double>(cpus->size()) : 0;
}

Result<> read_neighbours(const store::Reader& store, std::vector<SharingRun> runs, const Left& left,
                         FootprintData& data) {
  if (runs.empty()) return {};
  if (runs.size() > kMostReadNeighbours + 1) {
    data.neighbours_left_out = runs.size() - kMostReadNeighbours - 1;
    runs.resize(kMostReadNeighbours + 1);
  }
  // Places that this run was not on do not matter.
  const Sharing sharing = find_sharing(runs, 1);
  data.devices = devices_given(sharing, 0);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EnergyNeighbour other{.time = {.from = std::max(runs[i].start, data.window.from),
                                   .to = std::min(runs[i].end, data.window.to)},
                          .cpus = cpus_given(runs[i]),
                          .devices = devices_given(sharing, i),
                          .series = {}};
    const auto series =
        TRY(choose_series(store, runs[i].id, runs[i].host, [](const std::string& name) {
          return std::ranges::find(kNeighbourMetrics, name) != kNeighbourMetrics.end();
        }));
    other.series = TRY(read_columns(store, series, {.window = data.window, .left = left}));
    data.neighbours.push_back(std::move(other));
  }
  return {};
}

// ---- idle power
Result<std::vector<SharingRun>> idle_runs(const store::Reader& store, const std::string& host) {
  std::vector<SharingRun> idle;
  const auto read = [&](store::Reading& reading) -> Result<> {
    for (SharingRun& run :
         TRY(store::page::tagged_runs_of_host(reading, host, kIdleTag, kMostIdleRuns))) {
      const Window time{.from = run.start, .to = run.end};
      if (window_seconds(time) < kShortestIdle) continue;
      if (TRY(runs_beside(reading, run.id, run.workload, time)).size() == 1)
        idle.push_back(std::move(run));
    }
    return {};
  };
  TRY(store.inspect(read));
  return idle;
}

Result<std::optional<IdlePower>> find_idle(const store::Reader& store, const std::string& host) {
  for (const SharingRun& run : TRY(idle_runs(store, host))) {
    const Window time{.from = run.start, .to = run.end};
    const auto series = TRY(choose_series(store, run.id, host, [](const std::string& name) {
      return name == "host.energy.package";
    }));
    IdlePower idle{.run = run.name, .watts = {}};
    for (const ColumnSeries& one : TRY(read_columns(store, series, {.window = time, .count = 1})))
      if (one.total().covered >= kShortestIdle)
        idle.watts.emplace_back(one.source, one.total().mean());
    if (!idle.watts.empty()) return std::optional(std::move(idle));
  }
  return std::nullopt;
}

// ---- facts
std::optional<Json> fact_of(const store::Run& run, std::string_view key) {
  for (const auto& [name, text] : run.info) {
    if (name != key) continue;
    if (auto value = Json::parse(text)) return *std::move(value);
  }
  return std::nullopt;
}

std::optional<double> number_of(const store::Run& run, std::string_view key) {
  const auto fact = fact_of(run, key);
  const double value = fact ? fact->as_double(-1) : -1;
  return value >= 0 ? std::optional(value) : std::nullopt;
}

std::string text_of(const store::Run& run, std::string_view key) {
  const auto fact = fact_of(run, key);
  return fact && fact->as_string() != nullptr ? *fact->as_string() : "";
}

EnergyPrices read_prices(const store::Run& run) {
  return {.pue = number_of(run, "footprint.pue"),
          .intensity_g_per_kwh = number_of(run, "footprint.intensity_g_per_kwh"),
          .intensity_year = number_of(run, "footprint.intensity_year"),
          .intensity_source = text_of(run, "footprint.intensity_source"),
          .price_per_kwh = number_of(run, "footprint.price_per_kwh"),
          .price_per_hour = number_of(run, "footprint.price_per_hour"),
          .currency = text_of(run, "footprint.currency")};
}

std::vector<std::string> module_gpus(const store::Run& run) {
  constexpr std::string_view kBegin = "device.", kEnd = ".power_scope";
  std::vector<std::string> sources;
  for (const auto& [key, value] : run.info)
    if (key.starts_with(kBegin) && key.ends_with(kEnd) && key.size() > kBegin.size() + kEnd.size())
      sources.push_back(key.substr(kBegin.size(), key.size() - kBegin.size() - kEnd.size()));
  return sources;
}

// ---- units of work
WorkUnit unit_of(std::string name, std::int64_t count, bool too_many) {
  if (count > 0)
    return {.name = std::move(name), .count = static_cast<double>(count), .from = "phases"};
  std::string reason = too_many ? "the run has too many phases to count them"
                                : fmt::format("no {}s were recorded in this time", name);
  return {.name = std::move(name), .count = std::nullopt, .from = std::move(reason)};
}

// The increase of a metric that counts samples, from its last value before the window or its first
// one in it.
Result<std::optional<WorkUnit>> logged_samples(const store::Reader& store, const store::Run& run,
                                               Window window) {
  std::vector<store::Series> series =
      TRY(choose_series(store, run.id, run.host, [](const std::string& name) {
        return std::ranges::find(kSampleMetrics, name) != kSampleMetrics.end();
      }));
  std::erase_if(series, [](const auto& one) { return one.owner != metric::Owner::kRun; });
  if (series.size() != 1) return std::nullopt;
  const std::vector<query::SeriesInput> inputs = {{.series = series.front().id}};
  const auto statistics = [&](store::PointView& view, UtcTime from,
                              UtcTime to) -> Result<query::WindowStatistics> {
    if (from >= to) return query::WindowStatistics();
    const auto found = TRY(query::window_statistics(view, {.series = inputs,
                                                           .from = ns_of(from),
                                                           .to = ns_of(to),
                                                           .deviation = false,
                                                           .integral = false}));
    return found.front();
  };
  query::WindowStatistics before, within;
  const auto read = [&](store::PointView& view, std::size_t) -> Result<> {
    before = TRY(statistics(view, run.start, window.from));
    within = TRY(statistics(view, window.from, window.to));
    return {};
  };
  TRY(query::view_each(store, inputs, read));
  // A count may begin anywhere (a resumed training), but only ascends: others are no count.
  if (!within.first || !within.last || within.last->value < within.max->value) return std::nullopt;
  const double from = before.last ? before.last->value : within.first->value;
  if (!(within.last->value > from) || within.first->value < from) return std::nullopt;
  return WorkUnit{
      .name = "sample", .count = within.last->value - from, .from = series.front().name};
}

WorkUnit samples_of_steps(const store::Run& run, const TrainingUnits& counted) {
  WorkUnit unit{.name = "sample", .count = std::nullopt, .from = {}};
  for (const std::string_view name : kBatchParams) {
    const auto param = std::ranges::find(
        run.params, name, [](const auto& one) -> std::string_view { return one.first; });
    if (param == run.params.end() || counted.steps == 0) continue;
    const auto size = parse_int(param->second);
    if (!size || *size <= 0) continue;
    if (counted.lanes != 1) {
      unit.from = fmt::format("{} of {} training lanes may be each one's or all together", name,
                              counted.lanes);
      return unit;
    }
    unit.count = static_cast<double>(*size) * static_cast<double>(counted.steps);
    unit.from = fmt::format("steps × {}", name);
    return unit;
  }
  unit.from = "neither a metric `samples` nor a param `batch_size` with steps was recorded";
  return unit;
}

Result<std::vector<WorkUnit>> find_units(const store::Reader& store, const store::Run& run,
                                         const FootprintReading& reading) {
  const Window window = reading.window;
  const TrainingUnits counted = TRY(read_training_units(
      store, run, {.window = window, .left = reading.left, .known = reading.known_units}));
  std::vector<WorkUnit> units = {unit_of("epoch", counted.epochs, counted.too_many),
                                 unit_of("step", counted.steps, counted.too_many)};
  auto samples = TRY(logged_samples(store, run, window));
  units.push_back(samples ? *std::move(samples) : samples_of_steps(run, counted));
  return units;
}

}  // namespace

Result<FootprintData> read_footprint_data(const store::Reader& store, const store::Run& run,
                                          const FootprintReading& reading) {
  const Window window = reading.window;
  const Left& left = reading.left;
  FootprintData data;
  data.window = window;
  data.means = RunData({}, run.unavailable);
  data.prices = read_prices(run);
  data.module_gpus = module_gpus(run);
  data.cpus = static_cast<double>(allowed_cpus(run).size());
  data.host_cpus = number_of(run, "cpus").value_or(0);
  data.host_memory = number_of(run, "memory_bytes").value_or(0);
  if (window_seconds(window) < kShortestFootprint) return data;
  const auto series = TRY(choose_series(store, run.id, run.host, [](const std::string& name) {
    return is_energy_metric(name) || std::ranges::find(kUseMetrics, name) != kUseMetrics.end();
  }));
  data.series = TRY(read_columns(store, series, {.window = window, .left = left}));
  std::vector<std::string_view> wanted(kMeansWanted.begin(), kMeansWanted.end());
  std::ranges::copy(profile_metrics(), std::back_inserter(wanted));
  data.means = TRY(RunData::read(store, run, window, wanted));
  std::vector<SharingRun> beside;
  const auto read = [&](store::Reading& snapshot) -> Result<> {
    beside = TRY(runs_beside(snapshot, run.id, run.workload, window));
    return {};
  };
  TRY(store.inspect(read));
  TRY(read_neighbours(store, std::move(beside), left, data));
  if (!run.host.empty()) data.idle = TRY(find_idle(store, run.host));
  if (reading.units) data.units = TRY(find_units(store, run, reading));
  return data;
}

}  // namespace corral::analyze
