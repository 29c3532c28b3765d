// Sharing: lanes of devices, MIG instances, CPUs and hosts of a workload's runs, and a
// metric alone and shared.
#include "analyze/sharing.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "core/json.h"
#include "core/text.h"
#include "query/chart/chart.h"
#include "query/series/integral.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "store/search/run_summaries.h"

namespace corral::server::api {
namespace {

using analyze::SharedPlace;
using analyze::Sharing;
using analyze::TimeSpan;
using store::page::SharingRun;
using store::page::tag_of;

constexpr std::size_t kMostMeasured = 200;  // runs, places; the rest has no means

constexpr std::size_t kMostSpans = 256;  // a mean takes the longest ones

// The time-weighted mean of a series over several spans of time (query/series/integral.h);
// `covered`: seconds for which there were points.
struct IntervalMean {
  double integral = 0;  // unit * s
  double covered = 0;   // s
  [[nodiscard]] std::optional<double> mean() const {
    return covered > 0 ? std::optional(integral / covered) : std::nullopt;
  }
  void add(const IntervalMean& other) {
    integral += other.integral;
    covered += other.covered;
  }
};

Result<IntervalMean> interval_mean(store::PointView& view, const query::SeriesInput& input,
                                   std::span<const TimeSpan> spans) {
  std::vector<TimeSpan> longest(spans.begin(), spans.end());
  std::ranges::sort(longest, std::greater<>(), &TimeSpan::length);
  longest.resize(std::min(longest.size(), kMostSpans));
  query::IntegralOptions options;
  options.rule = query::usual_rule(input.channel);
  options.max_points = 1'000'000;
  IntervalMean sum;
  for (const TimeSpan& span : longest) {
    if (span.start >= span.end) continue;
    const auto one = TRY(query::integrate(view, {.series = {input},
                                                 .grid = {.axis = query::GridAxis::kTime,
                                                          .from = ns_of(span.start),
                                                          .to = ns_of(span.end),
                                                          .columns = 1},
                                                 .options = options}));
    const query::IntegralCell& cell = one.front().cells.front();
    sum.add({.integral = cell.integral, .covered = cell.covered});
  }
  return sum;
}

// A metric while alone and while shared.
struct Means {
  IntervalMean alone, shared;
};

struct Shares {
  std::vector<SharingRun> runs;  // the workload's own first
  std::size_t own = 0;
  Sharing sharing;
  std::string metric, unit;
  std::vector<Means> run_means;    // means of the request's runs; empty without a metric
  std::vector<Means> place_means;  // parallel to the places; empty without a metric
};

Result<> read_runs(const store::Reader& store, WorkloadId id, Shares& shares) {
  const auto read = [&](store::Reading& reading) -> Result<> {
    shares.runs = TRY(store::page::runs_of_workload(reading, id));
    shares.own = shares.runs.size();
    auto others = TRY(store::page::neighbours_of(reading, id, shares.runs));
    std::ranges::move(others, std::back_inserter(shares.runs));
    return {};
  };
  return store.inspect(read);
}

std::vector<TimeSpan> overlap_times(const std::vector<analyze::Overlap>& overlaps) {
  std::vector<TimeSpan> spans;
  spans.reserve(overlaps.size());
  for (const analyze::Overlap& overlap : overlaps) spans.push_back(overlap.time);
  return spans;
}

struct Moments {
  std::span<const TimeSpan> alone, shared;
};
Result<Means> means_over(const store::Reader& store, const std::vector<store::Series>& series,
                         const Moments& moments) {
  Means means;
  std::vector<SeriesId> ids;
  ids.reserve(series.size());
  for (const store::Series& one : series) ids.push_back(one.id);
  const auto read = [&](store::PointView& view) -> Result<> {
    for (const store::Series& one : series) {
      const query::SeriesInput input = query::input_from(one, query::ChartMode::kAuto);
      means.alone.add(TRY(interval_mean(view, input, moments.alone)));
      means.shared.add(TRY(interval_mean(view, input, moments.shared)));
    }
    return {};
  };
  if (!ids.empty()) TRY(store.view(ids, read));
  return means;
}

// A run's own series, else the workload's of the devices it was on, else the workload's of no
// source.
std::vector<store::Series> series_of_run(const Shares& shares, std::size_t run,
                                         const std::vector<store::Series>& all) {
  const auto on_it = [&](const std::string& source) {
    return std::ranges::any_of(shares.sharing.places, [&](const SharedPlace& place) {
      return place.name == source &&
             std::ranges::find(place.stays, run, &analyze::Stay::run) != place.stays.end();
    });
  };
  std::vector<store::Series> own, device, host;
  for (const store::Series& one : all) {
    if (one.name != shares.metric) continue;
    if (one.owner == metric::Owner::kRun) {
      own.push_back(one);
    } else if (one.source.empty()) {
      host.push_back(one);
    } else if (on_it(one.source)) {
      device.push_back(one);
    }
  }
  return !own.empty() ? own : !device.empty() ? device : host;
}

Result<> measure_places(const store::Reader& store, Shares& shares,
                        const std::vector<store::Series>& all) {
  for (const SharedPlace& place : shares.sharing.places) {
    std::vector<store::Series> here;
    for (const store::Series& one : all) {
      if (one.name == shares.metric && one.owner != metric::Owner::kRun &&
          one.source == place.name && shares.place_means.size() < kMostMeasured)
        here.push_back(one);
    }
    const std::vector<TimeSpan> shared = overlap_times(place.overlaps);
    shares.place_means.push_back(
        TRY(means_over(store, here, {.alone = place.alone, .shared = shared})));
  }
  return {};
}

Result<> measure(const store::Reader& store, Shares& shares) {
  if (shares.metric.empty()) return {};
  std::vector<store::Series> all;
  for (std::size_t run = 0; run < shares.own; ++run) {
    std::vector<store::Series> mine;
    if (run < kMostMeasured) {
      all = TRY(store.series_of(shares.runs[run].id));
      mine = series_of_run(shares, run, all);
    }
    if (!mine.empty()) shares.unit = store::tracking::summary_of(mine.front()).unit;
    const analyze::RunShare& share = shares.sharing.runs[run];
    shares.run_means.push_back(
        TRY(means_over(store, mine, {.alone = share.alone, .shared = share.shared})));
  }
  return measure_places(store, shares, all);
}

// ---- JSON
double total(const std::vector<TimeSpan>& spans) {
  Nanos sum{0};
  for (const TimeSpan& span : spans) sum += span.length();
  return seconds(sum);
}

void write_span(JsonWriter& json, const TimeSpan& span) {
  write_time(json, "start_ns", span.start);
  write_time(json, "end_ns", span.end);
}

void write_numbers(JsonWriter& json, std::string_view name, const std::vector<std::size_t>& all) {
  write_array(json, name, all,
              [](JsonWriter& out, std::size_t one) { out.value(static_cast<std::int64_t>(one)); });
}

void write_mean(JsonWriter& json, std::string_view name, const IntervalMean& mean) {
  json.key(name).begin_object();
  write_optional(json, "mean", mean.mean());
  json.member("covered_s", mean.covered).end_object();
}

void write_means(JsonWriter& json, const std::vector<Means>& all, std::size_t at) {
  const Means means = at < all.size() ? all[at] : Means{};
  write_mean(json, "alone", means.alone);
  write_mean(json, "shared", means.shared);
}

void write_sharing_run(JsonWriter& json, const Shares& shares, std::size_t at) {
  const SharingRun& run = shares.runs[at];
  const analyze::RunShare& share = shares.sharing.runs[at];
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("own", at < shares.own).member("workload_id", run.workload.hex());
  write_text(json, "workload", run.workload_name);
  json.member("status", store::status_name(run.status));
  for (const auto& [name, key] :
       {std::pair("outcome", "corral.outcome"), std::pair("collocation", "corral.collocation"),
        std::pair("letter", "corral.letter")})
    write_text(json, name, tag_of(run, key));
  json.member("host", run.host);
  write_span(json, {run.start, run.end});
  json.member("alone_s", total(share.alone)).member("shared_s", total(share.shared));
  write_numbers(json, "with", share.with);
  write_means(json, shares.run_means, at);
  json.end_object();
}

void write_place(JsonWriter& json, const Shares& shares, std::size_t at) {
  const SharedPlace& place = shares.sharing.places[at];
  json.begin_object()
      .member("kind", analyze::place_kind_name(place.kind))
      .member("name", place.name);
  json.member("host", place.host);
  write_text(json, "device", place.device);
  write_text(json, "profile", place.profile);
  json.key("stays").begin_array();
  for (const analyze::Stay& stay : place.stays) {
    json.begin_object().member("run", static_cast<std::int64_t>(stay.run));
    write_span(json, stay.time);
    json.end_object();
  }
  json.end_array().key("overlaps").begin_array();
  for (const analyze::Overlap& overlap : place.overlaps) {
    json.begin_object();
    write_span(json, overlap.time);
    write_numbers(json, "runs", overlap.runs);
    json.end_object();
  }
  json.end_array().member("alone_s", total(place.alone));
  json.member("shared_s", seconds(place.shared)).member("idle_s", seconds(place.idle));
  write_means(json, shares.place_means, at);
  json.end_object();
}

std::string sharing_json(WorkloadId id, const Shares& shares) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("workload_id", id.hex());
  write_text(json, "workload", shares.runs.front().workload_name);
  write_time(json, "from_ns", shares.sharing.time.start);
  write_time(json, "to_ns", shares.sharing.time.end);
  write_text(json, "metric", shares.metric);
  json.member("unit", shares.unit).key("runs").begin_array();
  for (std::size_t run = 0; run < shares.runs.size(); ++run) write_sharing_run(json, shares, run);
  json.end_array().key("lanes").begin_array();
  for (std::size_t place = 0; place < shares.sharing.places.size(); ++place)
    write_place(json, shares, place);
  json.end_array().end_object();
  return body;
}

// Runs of others that met none of the workload's places are of no interest.
void drop_strangers(Shares& shares) {
  std::vector<bool> met(shares.runs.size(), false);
  std::fill_n(met.begin(), shares.own, true);
  for (const SharedPlace& place : shares.sharing.places) {
    for (const analyze::Stay& stay : place.stays) met[stay.run] = true;
  }
  std::vector<SharingRun> kept;
  for (std::size_t run = 0; run < shares.runs.size(); ++run) {
    if (met[run]) kept.push_back(std::move(shares.runs[run]));
  }
  shares.runs = std::move(kept);
  shares.sharing = analyze::find_sharing(shares.runs, shares.own);
}

}  // namespace

Answer sharing(const Request& request, Context& context) {
  const auto id = TRY_PARSED(about("workload", WorkloadId::parse(request.param("workload"))));
  Shares shares;
  shares.metric = request.query_value("metric").value_or("");
  TRY(read_runs(context.reader, id, shares));
  if (shares.runs.empty()) return fail(Code::kNotFound, fmt::format("no workload {}", id.hex()));
  shares.sharing = analyze::find_sharing(shares.runs, shares.own);
  drop_strangers(shares);
  TRY(measure(context.reader, shares));
  return json_response(sharing_json(id, shares));
}

}  // namespace corral::server::api
