#include "query/export/export.h"

#include <fmt/core.h>

#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "metric/foreign.h"
#include "query/series/points.h"

namespace corral::query {
namespace {

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

// The cells that each row of a series has, quoted once.
struct Label {
  std::string csv;   // metric,source
  std::string json;  // "metric":…,"source":…
};

Label make_label(const store::Series& series) {
  Label label{.csv = csv_field(series.name) + "," + csv_field(series.source),
              .json = "\"metric\":"};
  append_json_string(label.json, series.name);
  label.json += ",\"source\":";
  append_json_string(label.json, series.source);
  return label;
}

std::string bound_text(std::int64_t ns) {
  const bool known = ns != PointGap::kEarliest && ns != PointGap::kLatest;
  return known ? std::to_string(ns) : std::string();
}

// Rows of a format, appended to a part.
class Rows final : public PointTaker {
 public:
  explicit Rows(const ExportRequest& request) : format_(request.format), run_(request.run.hex()) {}

  void add(const store::Series& series) { labels_.emplace(series.id, make_label(series)); }
  [[nodiscard]] bool empty() const { return labels_.empty(); }

  void begin() {
    if (format_ == ExportFormat::kCsv) piece_ = "metric,source,time_ns,step,value\n";
    if (format_ == ExportFormat::kJson) piece_ = fmt::format("{{\"run\":\"{}\",\"points\":[", run_);
    if (format_ == ExportFormat::kJsonLines) before_ = fmt::format("\"run\":\"{}\",", run_);
  }

  [[nodiscard]] bool full() const override { return piece_.size() >= kPartBytes; }
  std::string drain() { return std::exchange(piece_, {}); }

  void points(const PointBatch& batch) override {
    const Label& label = labels_.at(batch.series);
    for (std::size_t i = 0; i < batch.values.size(); ++i) {
      std::optional<std::int64_t> step;
      if (!batch.steps.empty()) step = batch.steps[i];
      point(label, batch.times[i], step, batch.values[i]);
    }
  }

  void gap(const PointGap& gap) override {
    const Label& label = labels_.at(gap.series);
    const std::string from = bound_text(gap.from), to = bound_text(gap.to);
    if (format_ == ExportFormat::kCsv) {
      piece_ += fmt::format("{0},{1},,\n{0},{2},,\n", label.csv, from, to);
      return;
    }
    const std::string json = fmt::format("{{{}{},\"gap\":{{\"from_ns\":{},\"to_ns\":{}}}}}",
                                         before_, label.json, json_bound(from), json_bound(to));
    if (format_ == ExportFormat::kJsonLines) {
      piece_ += json + "\n";
    } else {
      gaps_ += (gaps_.empty() ? "\n" : ",\n") + json;
    }
  }

  void end() {
    if (format_ == ExportFormat::kJson)
      piece_ += "\n]" + (gaps_.empty() ? "" : ",\"gaps\":[" + gaps_ + "\n]") + "}\n";
  }

 private:
  static std::string json_bound(const std::string& text) {
    return text.empty() ? "null" : '"' + text + '"';
  }

  void point(const Label& label, std::int64_t time, std::optional<std::int64_t> step,
             double value) {
    auto out = std::back_inserter(piece_);
    if (format_ == ExportFormat::kCsv) {
      fmt::format_to(out, "{},{},", label.csv, time);
      if (step) fmt::format_to(out, "{}", *step);
      piece_ += ',' + number_text(value) + "\n";
      return;
    }
    if (format_ == ExportFormat::kJson) piece_ += std::exchange(separator_, ",\n");
    fmt::format_to(out, "{{{}{},\"time_ns\":\"{}\",\"step\":", before_, label.json, time);
    piece_ += step ? fmt::format("\"{}\"", *step) : "null";
    const char* quote = std::isfinite(value) ? "" : "\"";
    fmt::format_to(out, ",\"value\":{0}{1}{0}}}", quote, number_text(value));
    if (format_ == ExportFormat::kJsonLines) piece_ += '\n';
  }

  const ExportFormat format_;
  const std::string run_;
  std::unordered_map<SeriesId, Label> labels_;
  std::string piece_, gaps_, before_;
  const char* separator_ = "\n";
};

}  // namespace

Result<PartStream> export_points(const store::Reader& store, const ExportRequest& request) {
  auto rows = std::make_shared<Rows>(request);
  PointQuery query;
  for (const store::Series& series : TRY(store.series_of(request.run))) {
    if (!metric::name_matches(request.metric, series.name)) continue;
    query.series.push_back(series.id);
    rows->add(series);
  }
  if (rows->empty()) {
    return fail(Code::kNotFound,
                fmt::format("run {} has no metric that matches {}; `corral ls metrics` names them",
                            request.run.hex(), to_utf8(request.metric)));
  }
  rows->begin();
  return [store, rows, run = request.run,
          walk = PointWalk(store, std::move(query))](std::string& text) mutable -> Result<bool> {
    const bool more = TRY(walk.next(*rows));
    if (!more) {
      TRY(check_not_removed(store, run));
      rows->end();
    }
    text += rows->drain();
    return more;
  };
}

}  // namespace corral::query
