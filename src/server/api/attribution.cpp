// GET /runs/{run}/attribution: how much of a metric each type of phases used (docs/analysis.md).
#include <cmath>

#include "analyze/explain/attribute_metric.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::AttributedPart;
using analyze::Attribution;

Parsed<analyze::MetricOptions> read_metric_options(const Request& request) {
  const TimeEnds ends = TRY_PARSED(query_times(request));
  if (ends.from && ends.to && *ends.from >= *ends.to)
    return bad_query(request, "to_ns", "later than from_ns");
  const auto text = [&](std::string_view name) {
    return std::string(request.query_value(name).value_or(""));
  };
  if (text("metric").empty()) return bad_query(request, "metric", "the name of a metric");
  return analyze::MetricOptions{.metric = text("metric"),
                                .source = text("source"),
                                .from = ends.from,
                                .to = ends.to,
                                .lane = text("lane")};
}

void write_attributed(JsonWriter& json, const AttributedPart& part, double total) {
  const auto number = [&](std::string_view name, double value) {
    write_optional(json, name, part.is_identifiable() ? std::optional(value) : std::nullopt);
  };
  json.begin_object();
  write_text(json, "type", part.type.type);
  json.member("name", part.type.name).member("seconds", seconds(part.type.total));
  number("use", part.use);
  number("mean", part.mean);
  number("low", part.low);
  number("high", part.high);
  write_optional(
      json, "share_of_total",
      part.is_identifiable() && total > 0 ? std::optional(part.use / total) : std::nullopt);
  json.member("identifiable", part.is_identifiable());
  write_text(json, "reason", part.reason);
  json.end_object();
}

void write_background(JsonWriter& json, const Attribution& found) {
  json.member("background", found.background);
  write_optional(json, "background_low", found.background_low);
  write_optional(json, "background_high", found.background_high);
  write_text(json, "background_reason", found.background_reason);
}

Response written_attribution(const store::Run& run, const analyze::MetricAttribution& made) {
  const Attribution& found = made.found;
  return object_response([&](JsonWriter& json) {
    json.member("run", run.id.hex()).member("metric", made.metric);
    write_text(json, "source", made.source);
    json.member("unit", made.unit).member("method", "derived");
    write_time(json, "from_ns", made.window.from);
    write_time(json, "to_ns", made.window.to);
    json.member("samples", static_cast<std::int64_t>(found.samples));
    json.member("window_s", found.window_s);
    write_optional(json, "capacity",
                   std::isfinite(found.capacity) ? std::optional(found.capacity) : std::nullopt);
    json.member("limit", found.limit).member("total", found.total);
    write_background(json, found);
    json.member("not_identifiable", found.not_identifiable()).member("unplaced", found.unplaced);
    write_array(json, "parts", found.parts, [&](JsonWriter& out, const AttributedPart& part) {
      write_attributed(out, part, found.total);
    });
    write_array(json, "notes", made.notes,
                [](JsonWriter& out, const std::string& note) { out.value(note); });
  });
}

}  // namespace

Answer attribution(const Request& request, Context& context) {
  const analyze::MetricOptions options = TRY_PARSED(read_metric_options(request));
  const RunId id = TRY(requested_run(request, context));
  const auto make = [&context, id, options](const Left& left) -> Answer {
    analyze::MetricOptions wanted = options;
    wanted.left = left;
    const store::Run run = TRY(read_run(context.reader, id));
    return written_attribution(run, TRY(analyze::attribute_metric(context.reader, run, wanted)));
  };
  return late_answer(request, context, id, make);
}

}  // namespace corral::server::api
