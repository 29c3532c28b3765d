// Points of runs: POST /points, the export of a run, and Prometheus' remote read.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/limits.h"
#include "query/export/export.h"
#include "query/export/perfetto.h"
#include "query/export/remote_read.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

// A glob may be longer than the names it is for.
constexpr std::size_t kTextBytes = 4 * limits::kNameBytes;

}  // namespace

Parsed<PointsRequest> parse_points_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"runs", "metrics", "origin", "from_ns", "to_ns", "points"});
  PointsRequest request;
  query::ReadRequest& read = request.read;
  request.runs = fields.texts("runs", kMostReadRuns, kTextBytes);
  if (fields.has("metrics")) read.metrics = fields.texts("metrics", kMostReadMetrics, kTextBytes);
  read.since_start = fields.choice<bool>("origin", {{"utc", false}, {"run", true}}).value_or(false);
  const Ends time = read_ends(fields, {.from = "from_ns", .to = "to_ns", .unit = "nanoseconds"});
  read.from = time.from;
  read.to = time.to;
  if (fields.has("points"))
    read.points = fields.count("points", query::kLeastReducedPoints, query::kMostReducedPoints);
  return fields.finish(std::move(request));
}

Answer points(const Request& request, Context& context) {
  PointsRequest wanted = TRY_PARSED(parse_points_request(request.body));
  for (const std::string& text : wanted.runs) {
    const RunId run = TRY_PARSED(about("runs", query::select_run(context.reader, text)));
    if (std::ranges::find(wanted.read.runs, run) == wanted.read.runs.end())
      wanted.read.runs.push_back(run);
  }
  // Once the first byte is out the status cannot be changed.
  if (const auto found = query::check_read(context.reader, wanted.read); !found)
    return tl::unexpected(RequestError(found.error(), "metrics"));
  return stream_response("application/x-corral-points",
                         query::read_points(context.reader, std::move(wanted.read)));
}

namespace {

struct Format {
  std::string_view name, type;
  query::ExportFormat format;
};
constexpr std::array kFormats = {
    Format{"csv", "text/csv; charset=utf-8", query::ExportFormat::kCsv},
    Format{"jsonl", "application/x-ndjson", query::ExportFormat::kJsonLines},
    Format{"json", "application/json", query::ExportFormat::kJson}};

Response download(std::string_view type, const std::string& name, StreamProducer stream) {
  Response response = stream_response(type, std::move(stream));
  response.set_header("Content-Disposition", fmt::format("attachment; filename=\"{}\"", name));
  return response;
}

}  // namespace

Answer export_points(const Request& request, Context& context) {
  const std::string_view name = request.query_value("format").value_or("csv");
  const std::string metric(request.query_value("metric").value_or("*"));
  const auto* const format = std::ranges::find(kFormats, name, &Format::name);
  if (format == kFormats.end() && name != "perfetto")
    return bad_query(request, "format", "csv, jsonl, json or perfetto");
  const RunId run = TRY(requested_run(request, context));
  if (format == kFormats.end()) {
    return download("application/x-perfetto-trace", run.hex() + ".pftrace",
                    query::export_trace(context.reader, {.run = run, .metric = metric}));
  }
  auto file = query::export_points(context.reader,
                                   {.run = run, .metric = metric, .format = format->format});
  if (!file && file.error().code == Code::kNotFound)
    return tl::unexpected(RequestError(file.error(), "metric"));
  return download(format->type, fmt::format("{}.{}", run.hex(), name), TRY(std::move(file)));
}

Answer remote_read(const Request& request, Context& context) {
  const query::RemoteRead asked = TRY(query::RemoteRead::parse(request.body));
  Response response;
  response.late = [&context, asked](const auto& left) -> Response {
    auto answer = asked.answer(context.reader, left);
    if (!answer) return error_response(answer.error());
    // In one part, of which the rest waits in a file: a slow reader holds no memory.
    Response made = stream_response(
        "application/x-protobuf",
        [text = std::make_shared<std::string>(*std::move(answer))](std::string& part) {
          part = std::exchange(*text, {});
          return Result<bool>(false);
        });
    made.set_header("Content-Encoding", "snappy");
    return made;
  };
  return response;
}

}  // namespace corral::server::api
