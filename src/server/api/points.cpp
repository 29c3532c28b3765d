// Points of runs: POST /points and the export of a run.
#include <fmt/core.h>

#include <algorithm>

#include "core/limits.h"
#include "query/export/export.h"
#include "query/export/perfetto.h"
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
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "metrics", "origin", "from_ns", "to_ns", "points"});
  PointsRequest request;
  query::ReadRequest& read = request.read;
  request.runs = fields.texts("runs", kMostReadRuns, kTextBytes);
  if (fields.has("metrics")) read.metrics = fields.texts("metrics", kMostReadMetrics, kTextBytes);
  read.since_start = fields.choice<bool>("origin", {{"utc", false}, {"run", true}}).value_or(false);
  read.from = fields.integer("from_ns", "nanoseconds");
  read.to = fields.integer("to_ns", "nanoseconds");
  if (read.from && read.to && *read.from >= *read.to) fields.wrong("to_ns", "later than from_ns");
  if (fields.has("points"))
    read.points = fields.count("points", query::kLeastReducedPoints, query::kMostReducedPoints);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Response points(const Request& request, Context& context) {
  auto wanted = parse_points_request(request.body);
  if (!wanted)
    return error_response(wanted.error().error, {wanted.error().field, wanted.error().position});
  for (const std::string& text : wanted->runs) {
    const Result<RunId> run = query::select_run(context.reader, text);
    if (!run) return error_response(run.error(), {.field = "runs", .position = std::nullopt});
    if (std::ranges::find(wanted->read.runs, *run) == wanted->read.runs.end())
      wanted->read.runs.push_back(*run);
  }
  // Once the first byte is out the status cannot be changed: look before.
  if (const auto found = query::check_read(context.reader, wanted->read); !found)
    return error_response(found.error(), {.field = "metrics", .position = std::nullopt});
  Response response;
  response.headers = {{"Content-Type", "application/x-corral-points"},
                      {"Cache-Control", "no-store"}};
  response.stream = [reader = std::make_shared<query::PointReader>(
                         context.reader, std::move(wanted->read))](std::string& part) {
    return Result<bool>(reader->next(part));
  };
  return response;
}

namespace {

Response export_trace(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  const query::PerfettoRequest wanted{
      .run = *run, .metric = std::string(request.query_value("metric").value_or("*"))};
  Response response;
  response.headers = {
      {"Content-Type", "application/x-perfetto-trace"},
      {"Cache-Control", "no-store"},
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.pftrace\"", run->hex())}};
  response.stream = [file = std::make_shared<query::PerfettoExport>(context.reader, wanted)](
                        std::string& part) { return file->next(part); };
  return response;
}

}  // namespace

Response export_points(const Request& request, Context& context) {
  query::ExportRequest wanted;
  const std::string_view format = request.query_value("format").value_or("csv");
  if (format == "perfetto") return export_trace(request, context);
  if (format != "csv" && format != "json" && format != "jsonl")
    return bad_query("format", "csv, jsonl, json or perfetto", format);
  wanted.format = format == "csv"     ? query::ExportFormat::kCsv
                  : format == "jsonl" ? query::ExportFormat::kJsonLines
                                      : query::ExportFormat::kJson;
  wanted.metric = request.query_value("metric").value_or("*");
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  wanted.run = *run;
  auto file = query::PointExport::open(context.reader, wanted);
  if (!file && file.error().code == Code::kNotFound)
    return error_response(file.error(), {.field = "metric", .position = std::nullopt});
  if (!file) return error_response(file.error());
  Response response;
  const std::string_view type = format == "csv"     ? "text/csv; charset=utf-8"
                                : format == "jsonl" ? "application/x-ndjson"
                                                    : "application/json";
  response.headers = {
      {"Content-Type", std::string(type)},
      {"Cache-Control", "no-store"},
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.{}\"", run->hex(), format)}};
  response.stream = [file = std::make_shared<query::PointExport>(*std::move(file))](
                        std::string& part) { return file->next(part); };
  return response;
}

}  // namespace corral::server::api
