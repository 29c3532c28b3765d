#include "query/export.h"

#include <fmt/core.h>

#include <cmath>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "query/points.h"

namespace corral::query {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10;

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

// What stands in each row of a series, quoted once.
struct Label {
  std::string csv;   // metric,source
  std::string json;  // "metric":…,"source":…
};

Label label_of(const store::Series& series) {
  Label label{.csv = csv_field(series.name) + "," + csv_field(series.source),
              .json = "\"metric\":"};
  append_json_string(label.json, series.name);
  label.json += ",\"source\":";
  append_json_string(label.json, series.source);
  return label;
}

void append_csv(std::string& out, const Label& label, const Point& point) {
  fmt::format_to(std::back_inserter(out), "{},{},", label.csv, point.time);
  if (point.step) fmt::format_to(std::back_inserter(out), "{}", *point.step);
  out += ',' + number_text(point.value) + "\n";
}

void append_json(std::string& out, const Label& label, const Point& point) {
  fmt::format_to(std::back_inserter(out), "{{{},\"time_ns\":\"{}\",\"step\":", label.json,
                 point.time);
  out += point.step ? fmt::format("\"{}\"", *point.step) : "null";
  const char* quote = std::isfinite(point.value) ? "" : "\"";
  fmt::format_to(std::back_inserter(out), ",\"value\":{0}{1}{0}}}", quote,
                 number_text(point.value));
}

}  // namespace

Result<> export_points(store::Store& store, const ExportRequest& request, const ExportSink& sink) {
  std::unordered_map<SeriesId, Label> labels;
  PointQuery query;
  for (const store::Series& series : TRY(store.series_of(request.run))) {
    if (!glob_match(request.metric, series.name)) continue;
    query.series.push_back(series.id);
    labels.emplace(series.id, label_of(series));
  }
  if (labels.empty()) {
    return fail(Code::kNotFound,
                fmt::format("run {} has no metric that matches {}; `corral ls metrics` names them",
                            request.run.hex(), request.metric));
  }
  const bool csv = request.format == ExportFormat::kCsv;
  std::string piece = csv ? "metric,source,time_ns,step,value\n"
                          : fmt::format("{{\"run\":\"{}\",\"points\":[", request.run.hex());
  const char* separator = "\n";
  bool wanted = true;
  TRY(walk_points(store, query, [&](const Point& point) {
    if (csv) {
      append_csv(piece, labels.at(point.series), point);
    } else {
      piece += std::exchange(separator, ",\n");
      append_json(piece, labels.at(point.series), point);
    }
    if (piece.size() < kPieceBytes) return true;
    wanted = sink(piece);
    piece.clear();
    return wanted;
  }));
  if (!csv) piece += "\n]}\n";
  if (wanted && !piece.empty()) sink(piece);
  return {};
}

}  // namespace corral::query
