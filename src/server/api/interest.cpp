// GET /runs/{run}/interest: what is worth looking at (docs/analysis.md).
#include "analyze/explain/interest.h"

#include <algorithm>

#include "core/json.h"
#include "query/series/axis_cells.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::Interest;
using analyze::SeriesInterest;

constexpr std::size_t kMostMoved = 10;  // in an answer, for each region

void write_series_id(JsonWriter& json, std::string_view name, const std::optional<SeriesId>& id) {
  write_optional(json, name, id ? std::optional(id->value) : std::nullopt);
}

void write_region(JsonWriter& json, const analyze::Region& region, const Interest& found) {
  json.begin_object();
  write_time(json, "from_ns", region.window.from);
  write_time(json, "to_ns", region.window.to);
  json.member("to_end", region.to_end).member("score", region.score);
  json.member("text", region.text);
  const auto count = std::min(region.moved.size(), kMostMoved);
  write_array(json, "moved", std::span(region.moved).first(count),
              [&](JsonWriter& out, const analyze::MovedMetric& moved) {
                const SeriesInterest& series = found.series[moved.series];
                out.begin_object();
                write_series_id(out, "series", series.id);
                out.member("metric", series.metric);
                write_text(out, "source", series.source);
                write_time(out, "at_ns", moved.at);
                out.member("before", moved.before).member("after", moved.after);
                out.member("unit", series.unit).end_object();
              });
  json.member("metrics", static_cast<std::int64_t>(region.moved.size())).end_object();
}

// Units of the axis: steps where columns are steps, else seconds.
double length_of_column(const Interest& found) {
  const std::size_t columns = found.columns.size();
  if (columns == 0) return 0;
  if (found.columns.unit) return static_cast<double>(found.columns.units_in_column);
  const auto& borders = found.columns.borders;
  return query::difference(ns_of(borders.front()), ns_of(borders.back())) * 1e-9 /
         static_cast<double>(columns);
}

void write_interest(JsonWriter& json, const SeriesInterest& series, const Interest& found) {
  const analyze::SeriesShape& shape = series.shape;
  json.begin_object();
  write_series_id(json, "series", series.id);
  json.member("metric", series.metric);
  write_text(json, "source", series.source);
  json.member("unit", series.unit).member("class", analyze::series_class_name(shape.type));
  write_series_id(json, "of", series.of ? found.series[*series.of].id : std::nullopt);
  json.member("interest", series.interest);
  write_optional(json, "step_correlation", series.step_correlation);
  json.member("jumps", static_cast<std::int64_t>(shape.jumps.jumps.size()));
  json.key("trend");
  if (shape.type == analyze::SeriesClass::kTrend) {
    json.begin_object().member("share", shape.line.share);
    json.member("change", shape.change).end_object();
  } else {
    json.null();
  }
  const bool periodic = shape.type == analyze::SeriesClass::kPeriodic;
  write_optional(json, "period",
                 periodic ? std::optional(shape.period * length_of_column(found)) : std::nullopt);
  json.end_object();
}

Response written(const store::Run& run, const Interest& found) {
  return object_response([&](JsonWriter& json) {
    json.member("run", run.id.hex());
    write_time(json, "from_ns", found.window.from);
    write_time(json, "to_ns", found.window.to);
    json.member("provisional", found.provisional).key("columns").begin_object();
    json.member("unit", found.columns.unit ? analyze::unit_name(*found.columns.unit) : "second");
    json.member("length", length_of_column(found));
    json.member("count", static_cast<std::int64_t>(found.columns.size())).end_object();
    write_array(json, "regions", found.regions,
                [&](JsonWriter& out, const auto& region) { write_region(out, region, found); });
    write_array(json, "series", found.series,
                [&](JsonWriter& out, const auto& series) { write_interest(out, series, found); });
    json.member("left_out", static_cast<std::int64_t>(found.left_out));
  });
}

}  // namespace

Answer interest(const Request& request, Context& context) {
  const TimeEnds ends = TRY_PARSED(query_times(request));
  if (ends.from && ends.to && *ends.from >= *ends.to)
    return bad_query(request, "to_ns", "later than from_ns");
  const RunId id = TRY(requested_run(request, context));
  const auto make = [&context, id, ends](const Left& left) -> Answer {
    const auto counted = TRY(counted_units(context, id));
    const store::Run run = TRY(read_run(context.reader, id));
    return written(
        run, TRY(analyze::find_interest(
                 context.reader, run,
                 {.from = ends.from, .to = ends.to, .left = left, .known_units = counted.get()})));
  };
  return late_answer(request, context, id, make);
}

}  // namespace corral::server::api
