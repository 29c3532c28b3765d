#include "analyze/explain/attribute_metric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyze/explain/explain.h"
#include "analyze/explain/stored_timeline.h"
#include "core/json.h"
#include "core/text.h"
#include "metric/catalogue.h"
#include "query/series/inputs.h"
#include "query/series/point_stream.h"

namespace corral::analyze {
namespace {

constexpr double kGap = 3;       // usual intervals
constexpr double kBeyond = 1.5;  // capacities: then it is none
constexpr std::size_t kMostSourcesNamed = 8;

// The reason that the run gave for the metric, else for its group ("run.pmu.*"); null: none.
const std::string* why_unavailable(const store::Run& run, std::string_view metric) {
  const std::string* of_group = nullptr;
  for (const auto& [what, reason] : run.unavailable) {
    if (what == metric) return &reason;
    const bool group = what.ends_with(".*") && metric.starts_with(what.substr(0, what.size() - 1));
    if (group && metric::find_metric(metric) != nullptr) of_group = &reason;
  }
  return of_group;
}

Result<store::Series> choose_series(const store::Reader& store, const store::Run& run,
                                    const MetricOptions& options) {
  std::vector<store::Series> all = TRY(store.series_of(run.id));
  std::erase_if(all, [&](const store::Series& series) {
    return series.owner == metric::Owner::kHost && series.host != run.host;
  });
  std::vector<std::string_view> names;
  std::vector<std::string> sources;
  std::vector<const store::Series*> found;
  for (const store::Series& series : all) {
    names.push_back(series.name);
    if (series.name != options.metric) continue;
    sources.push_back(printable(series.source));
    if (options.source.empty() || series.source == options.source) found.push_back(&series);
  }
  if (sources.empty()) {
    if (const std::string* reason = why_unavailable(run, options.metric))
      return fail(Code::kNotFound, fmt::format("the metric '{}' was not available: {}",
                                               printable(options.metric), printable(*reason)));
    return fail(Code::kNotFound,
                fmt::format("the run has no metric '{}'{}", printable(options.metric),
                            did_you_mean(options.metric, names)));
  }
  if (found.size() == 1) return *found.front();
  std::ranges::sort(sources);
  sources.resize(std::min(sources.size(), kMostSourcesNamed));
  const std::string known = join(sources, ", ");
  if (found.empty()) {
    return fail(Code::kNotFound, fmt::format("the metric '{}' has no source '{}', but {}",
                                             options.metric, printable(options.source), known));
  }
  return fail(Code::kInvalidArgument, fmt::format("the metric '{}' has several sources, such as {}",
                                                  options.metric, known));
}

Result<Window> choose_window(const Timeline& timeline, const store::Run& run,
                             const MetricOptions& options) {
  const UtcTime end = run.end.value_or(run.newest);
  Window window{.from = std::max(run.start, options.from.value_or(run.start)),
                .to = std::min(end, options.to.value_or(end))};
  if (window.from >= window.to)
    return fail(Code::kInvalidArgument, "the time to attribute is empty: it ends before it begins");
  if (options.from || options.to) return window;
  const auto lanes = training_lanes(find_leaves(timeline, window));
  const SteadyPart steady = find_steady_part(timeline, lanes, window);
  return steady.steps > 0 ? steady.window : window;
}

Result<std::vector<std::size_t>> choose_lanes_of(const Timeline& timeline,
                                                 const std::string& wanted, std::string_view host) {
  std::vector<std::size_t> lanes;
  for (std::size_t i = 0; i < timeline.lanes() && lanes.size() < kMostLanes; ++i) {
    const std::string_view name = timeline.lane(i);
    if (wanted.empty() ? name.substr(0, name.find('/')) == host : name == wanted)
      lanes.push_back(i);
  }
  if (lanes.empty() && !wanted.empty())
    return fail(Code::kNotFound, fmt::format("the run has no lane '{}'", printable(wanted)));
  return lanes;
}

void leave_out_gaps(std::vector<UseSample>& samples) {
  if (samples.empty()) return;
  std::vector<Nanos> lengths;
  for (const UseSample& sample : samples) lengths.push_back(sample.end - sample.begin);
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, middle);
  const double longest = kGap * seconds(*middle);
  std::erase_if(samples, [&](const UseSample& sample) {
    return seconds(sample.end - sample.begin) > longest;
  });
}

std::optional<double> cpus_of_host(const store::Run& run) {
  for (const auto& [key, text] : run.info) {
    if (key != "cpus") continue;
    const auto cpus = Json::parse(text);
    if (cpus && cpus->as_double(0) > 0) return cpus->as_double(0);
  }
  return std::nullopt;
}

double capacity_of(const store::Run& run, const store::Series& series, const std::string& unit,
                   const std::vector<UseSample>& samples) {
  double capacity = kNoCapacity;
  if (unit == "share" || series.name == "run.thread.cpu" || series.name == "host.cpu.core.busy") {
    capacity = 1;
  } else if (series.name == "run.cpu.used" || series.name == "cgroup.cpu.used") {
    const std::size_t cpus = allowed_cpus(run).size();
    if (cpus > 0) capacity = static_cast<double>(cpus);
  } else if (series.name.starts_with("host.cpu.") && unit == "cores") {
    capacity = cpus_of_host(run).value_or(kNoCapacity);
  }
  const bool beyond = std::ranges::any_of(samples, [&](const UseSample& sample) {
    return std::isfinite(sample.value) && sample.value > kBeyond * capacity;
  });
  return beyond ? kNoCapacity : capacity;
}

bool goes_to_units(const store::Series& series, const std::string& unit) {
  return series.name.starts_with("host.gpu.") || series.name.starts_with("run.gpu.") ||
         unit == "W" || unit == "J";
}

std::vector<std::string> limits_of(const store::Series& series, Grain grain) {
  std::vector<std::string> notes;
  if (series.owner == metric::Owner::kHost) {
    notes.emplace_back(
        "Measured on the whole host: use by other programs is in the background, and in phases "
        "that "
        "it coincides with.");
  }
  if (grain == Grain::kUnits)
    notes.emplace_back("Without a trace of the device's work, it is not divided within steps.");
  if (series.kind == metric::Kind::kGauge)
    notes.emplace_back("Each value is taken for the mean since the one before.");
  return notes;
}

}  // namespace

Result<std::vector<UseSample>> read_use_samples(const store::Reader& store,
                                                const store::Series& series, Window window,
                                                const Left& left) {
  const query::SeriesInput input{.series = series.id,
                                 .channel = series.kind == metric::Kind::kCounter
                                                ? store::Channel::kRate
                                                : store::Channel::kValue};
  std::vector<UseSample> samples;
  const auto read = [&](store::PointView& view, std::size_t) -> Result<> {
    query::Cursor cursor(view, input.series, input.channel);
    // A sample that ends with the window is in it.
    const std::int64_t end = ns_of(window.to) + (window.to < UtcTime::max() ? 1 : 0);
    auto stream = TRY(query::PointStream::open(cursor, ns_of(window.from), end, {}));
    std::map<std::int64_t, UtcTime> before;  // by session
    while (true) {
      TRY(check_waiting(left));
      const query::PointSpan span = TRY(stream.next());
      if (span.size() == 0) return {};
      for (std::size_t i = 0; i < span.size(); ++i) {
        const UtcTime time = utc_time(span.times[i]);
        const auto [last, fresh] = before.try_emplace(span.session, time);
        if (!fresh)
          samples.push_back({.begin = last->second, .end = time, .value = span.values[i]});
        last->second = time;
      }
      if (samples.size() > kMostSamples) {
        return fail(Code::kTooLarge, fmt::format("the metric has more than {} points in this time; "
                                                 "choose a shorter one",
                                                 kMostSamples));
      }
    }
  };
  TRY(query::view_each(store, std::span(&input, 1), read));
  leave_out_gaps(samples);
  return samples;
}

Result<MetricAttribution> attribute_metric(const store::Reader& store, const store::Run& run,
                                           const MetricOptions& options) {
  const store::Series series = TRY(choose_series(store, run, options));
  const Timeline timeline = TRY(read_timeline(store, run, {.left = options.left}));
  MetricAttribution out{.metric = series.name,
                        .source = series.source,
                        .unit = unit_of_mean(series),
                        .window = TRY(choose_window(timeline, run, options)),
                        .notes = {},
                        .found = {}};
  if (goes_to_units(series, out.unit)) out.grain = Grain::kUnits;
  out.notes = limits_of(series, out.grain);
  const auto lanes = TRY(choose_lanes_of(timeline, options.lane, run.host));
  const std::vector<UseSample> samples =
      TRY(read_use_samples(store, series, out.window, options.left));
  if (std::ranges::any_of(samples, [](const UseSample& sample) { return sample.value < 0; })) {
    return fail(Code::kInvalidArgument,
                fmt::format("the metric '{}' is below 0 at times, so it is not a use of anything",
                            printable(series.name)));
  }
  if (lanes.size() > 1 && !series.source.empty())
    out.notes.push_back(
        "Measured on one source: the use while a phase is open is divided among all lanes in it.");
  if (timeline.lanes() > kMostLanes)
    out.notes.push_back(fmt::format("Phases of the first {} lanes only.", kMostLanes));
  const double capacity = capacity_of(run, series, out.unit, samples);
  TRY(check_waiting(options.left));
  const Activity activity = Activity::find(timeline, lanes, out.window, out.grain);
  out.found = attribute(activity, samples, capacity);
  return out;
}

}  // namespace corral::analyze
