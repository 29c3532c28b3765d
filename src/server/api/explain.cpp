// GET /runs/{run}/explain: where the time of a run went (docs/analysis.md).
#include "analyze/explain/explain.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::Explanation;
using analyze::LaneLeaves;
using analyze::TimePart;

constexpr std::size_t kMostOdd = 100;  // in an answer, for each lane

Parsed<analyze::ExplainOptions> read_options(const Request& request) {
  const TimeEnds ends = TRY_PARSED(query_times(request));
  if (ends.from && ends.to && *ends.from >= *ends.to)
    return bad_query(request, "to_ns", "later than from_ns");
  return analyze::ExplainOptions{.from = ends.from,
                                 .to = ends.to,
                                 .lane = std::string(request.query_value("lane").value_or(""))};
}

void write_window(JsonWriter& json, const analyze::Window& window) {
  write_time(json, "from_ns", window.from);
  write_time(json, "to_ns", window.to);
}

void write_part(JsonWriter& json, const TimePart& part) {
  json.begin_object().member("part", analyze::time_part_name(part.kind)).member("name", part.name);
  write_text(json, "type", part.type);
  write_text(json, "kind", part.type.empty() ? "" : phase_kind_name(part.phase_kind));
  json.member("seconds", part.seconds).member("share", part.share).member("phases", part.phases);
  json.end_object();
}

void write_steady(JsonWriter& json, const analyze::SteadyPart& steady) {
  json.key("steady").begin_object();
  write_window(json, steady.window);
  json.member("is_steady", steady.steady);
  write_text(json, "reason", steady.reason);
  json.member("unit", analyze::unit_name(steady.unit));
  json.member("left_out", steady.left_out).member("steps", steady.steps);
  json.member("mean_s", steady.mean_s).member("deviation_s", steady.deviation_s).end_object();
}

void write_evidence(JsonWriter& json, const analyze::MetricMean& mean) {
  json.begin_object().member("metric", mean.metric);
  write_text(json, "source", mean.source);
  json.member("mean", mean.mean).member("unit", mean.unit);
  json.member("points", static_cast<std::int64_t>(mean.points)).end_object();
}

void write_bottleneck(JsonWriter& json, const std::optional<analyze::Bottleneck>& found) {
  json.key("bottleneck");
  if (!found) {
    json.null();
    return;
  }
  json.begin_object().member("part", analyze::bound_part_name(found->part));
  write_text(json, "phase", found->phase);
  json.member("share", found->share);
  json.member("resource", analyze::resource_name(found->resource)).member("text", found->text);
  write_text(json, "hint", found->hint);
  write_array(json, "evidence", found->evidence, write_evidence);
  write_array(json, "unproven", found->unproven, [](JsonWriter& out, const auto& one) {
    out.begin_object().member("resource", analyze::resource_name(one.resource));
    out.member("metric", one.metric).member("reason", one.reason).end_object();
  });
  json.end_object();
}

void write_slow_rank(JsonWriter& json, const std::optional<analyze::SlowRank>& found) {
  json.key("slow_rank");
  if (!found) {
    json.null();
    return;
  }
  json.begin_object().member("rank", found->rank).member("lane", found->lane);
  json.member("late_s", found->late_s).member("share", found->share);
  json.member("steps", found->steps).member("clock_error_s", seconds(found->clock_error));
  json.member("text", found->text).end_object();
}

void write_epoch(JsonWriter& json, const analyze::EpochTimes& epoch) {
  json.member("epoch", epoch.index);
  write_window(json, epoch.window);
}

void write_prediction(JsonWriter& json, std::string_view name, const analyze::Prediction& made,
                      double observed) {
  json.key(name).begin_object();
  const auto of = [&](double bound, double unit) {
    return made.step && unit > 0 ? std::optional(bound / unit) : std::nullopt;
  };
  const auto bounds = made.step.value_or(analyze::Prediction::Bounds{});
  write_optional(json, "lower_s", of(bounds.lower_s, 1));
  write_optional(json, "upper_s", of(bounds.upper_s, 1));
  write_optional(json, "lower_ratio", of(bounds.lower_s, observed));
  write_optional(json, "upper_ratio", of(bounds.upper_s, observed));
  write_text(json, "reason", made.reason);
  json.end_object();
}

void write_what_if(JsonWriter& json, const std::optional<analyze::WhatIf>& found) {
  json.key("what_if");
  if (!found) {
    json.null();
    return;
  }
  json.begin_object().member("method", "modelled").member("unit", analyze::unit_name(found->unit));
  json.member("step_s", found->step_s).member("steps", found->steps);
  write_prediction(json, "without_waits", found->without_waits, found->step_s);
  write_prediction(json, "balanced_ranks", found->balanced_ranks, found->step_s);
  write_text(json, "text", found->text);
  json.end_object();
}

void write_regime(JsonWriter& json, const analyze::Regime& regime,
                  const analyze::LaneEpochs& times) {
  json.begin_object().member("first", times.epochs[regime.first].index);
  json.member("last", times.epochs[regime.end - 1].index);
  json.member("epochs", static_cast<std::int64_t>(regime.size()));
  json.member("compared", regime.is_compared());
  if (!regime.typical) {
    json.member("alike", std::int64_t{0}).key("typical").null().end_object();
    return;
  }
  json.member("alike", static_cast<std::int64_t>(regime.alike)).key("typical").begin_object();
  write_epoch(json, times.epochs[*regime.typical]);
  json.end_object().member("median_s", regime.median_s).member("p10_s", regime.p10_s);
  json.member("p90_s", regime.p90_s).end_object();
}

void write_odd(JsonWriter& json, const analyze::OddEpoch& odd, const analyze::LaneEpochs& times) {
  json.begin_object();
  write_epoch(json, times.epochs[odd.epoch]);
  json.key("leaf");
  if (odd.leaf) {
    json.value(times.leaves[*odd.leaf]);
  } else {
    json.null();
  }
  json.member("seconds", odd.seconds).member("usual_s", odd.usual).end_object();
}

void write_epochs(JsonWriter& json, const analyze::EpochsOfLane& lane) {
  std::vector<analyze::OddEpoch> odd = lane.found.odd;
  std::ranges::stable_sort(odd, std::ranges::greater(), &analyze::OddEpoch::difference);
  odd.resize(std::min(odd.size(), kMostOdd));
  json.begin_object().member("lane", lane.lane);
  json.member("epochs", static_cast<std::int64_t>(lane.times.epochs.size()));
  json.member("left_out", static_cast<std::int64_t>(lane.times.left_out));
  write_array(json, "regimes", lane.found.regimes,
              [&](JsonWriter& out, const auto& regime) { write_regime(out, regime, lane.times); });
  write_array(json, "odd", odd,
              [&](JsonWriter& out, const auto& one) { write_odd(out, one, lane.times); });
  json.member("odd_epochs", static_cast<std::int64_t>(lane.found.odd.size())).end_object();
}

void write_finding(JsonWriter& json, const analyze::Finding& finding) {
  json.begin_object().member("id", finding.id).member("kind", finding.kind);
  write_text(json, "lane", finding.lane);
  write_text(json, "phase", finding.phase);
  write_window(json, finding.window);
  json.member("seconds", finding.seconds).member("share", finding.share);
  json.member("text", finding.text);
  write_text(json, "hint", finding.hint);
  json.end_object();
}

void write_device(JsonWriter& json, const analyze::DeviceTime& time) {
  json.begin_object().member("device", time.device);
  write_optional(json, "rank", time.rank);
  write_window(json, time.window);
  json.member("streams", time.streams).member("phases", time.phases);
  json.member("busy_s", seconds(time.busy)).member("compute_s", seconds(time.compute));
  json.member("communication_s", seconds(time.communication));
  json.member("memory_s", seconds(time.memory)).member("overlap_s", seconds(time.overlap));
  json.key("idle").begin_object().member("host_wait_s", seconds(time.host_wait));
  json.member("kernel_wait_s", seconds(time.kernel_wait));
  json.member("other_s", seconds(time.other)).member("unknown_s", seconds(time.unknown));
  json.end_object().member("text", time.text).end_object();
}

void write_lane(JsonWriter& json, const LaneLeaves& lane) {
  json.begin_object().member("lane", lane.lane).member("trains", lane.trains);
  json.member("steps", lane.steps).member("start_up_s", seconds(lane.start_up));
  json.member("untracked_s", seconds(lane.untracked)).member("shutdown_s", seconds(lane.shutdown));
  write_array(json, "leaves", lane.leaves, [](JsonWriter& out, const analyze::Leaf& leaf) {
    out.begin_object().member("name", leaf.name).member("type", leaf.type);
    out.member("kind", phase_kind_name(leaf.kind)).member("seconds", seconds(leaf.total));
    out.member("phases", leaf.phases).end_object();
  });
  json.end_object();
}

Response explained(const store::Run& run, const Explanation& found) {
  return object_response([&](JsonWriter& json) {
    json.member("run", run.id.hex());
    write_window(json, found.window);
    json.member("provisional", found.provisional).member("summary", found.summary);
    write_array(json, "unseen", found.unseen, [](JsonWriter& out, const analyze::Unseen& unseen) {
      out.begin_object().member("part", unseen.part).member("reason", unseen.reason).end_object();
    });
    write_array(json, "parts", found.parts, write_part);
    write_steady(json, found.steady);
    write_bottleneck(json, found.bottleneck);
    write_slow_rank(json, found.slow_rank);
    write_what_if(json, found.what_if);
    write_array(json, "epochs", found.epochs, write_epochs);
    write_array(json, "findings", found.findings, write_finding);
    write_array(json, "devices", found.devices, write_device);
    write_array(json, "lanes", found.lanes, write_lane);
    json.member("lanes_left_out", static_cast<std::int64_t>(found.lanes_left_out));
  });
}

}  // namespace

Answer explain(const Request& request, Context& context) {
  const analyze::ExplainOptions options = TRY_PARSED(read_options(request));
  const RunId id = TRY(requested_run(request, context));
  const auto make = [&context, id, options](const Left& left) -> Answer {
    analyze::ExplainOptions wanted = options;
    wanted.left = left;
    // Before it is read: what comes in between changes it.
    std::string state = TRY(state_of(context, id));
    const store::Run run = TRY(read_run(context.reader, id));
    const Explanation found = TRY(analyze::explain_run(context.reader, run, wanted));
    context.units->with([&](CountedUnits& last) {
      last = {.state = std::move(state),
              .units = std::make_shared<const analyze::TrainingUnits>(found.units)};
    });
    return explained(run, found);
  };
  return late_answer(request, context, id, make);
}

}  // namespace corral::server::api
