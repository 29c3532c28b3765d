#include "query/export/export.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
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

// Compiled formats straight into a buffer: a point is a row, and rows are millions.
using Text = fmt::memory_buffer;

void append(Text& text, std::string_view piece) {
  text.append(piece.data(), piece.data() + piece.size());
}

void append_number(Text& text, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(fmt::appender(text), FMT_COMPILE("{}"), value);
  } else {
    append(text, std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
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
    if (format_ == ExportFormat::kCsv) append(piece_, "metric,source,time_ns,step,value\n");
    if (format_ == ExportFormat::kJson)
      append(piece_, fmt::format("{{\"run\":\"{}\",\"points\":[", run_));
    if (format_ == ExportFormat::kJsonLines) before_ = fmt::format("\"run\":\"{}\",", run_);
  }

  [[nodiscard]] bool full() const override { return piece_.size() >= kPartBytes; }
  void drain(std::string& text) {
    text.append(piece_.data(), piece_.size());
    piece_.clear();
  }

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
      append(piece_, fmt::format("{0},{1},,\n{0},{2},,\n", label.csv, from, to));
      return;
    }
    const std::string json = fmt::format("{{{}{},\"gap\":{{\"from_ns\":{},\"to_ns\":{}}}}}",
                                         before_, label.json, json_bound(from), json_bound(to));
    if (format_ == ExportFormat::kJsonLines) {
      append(piece_, json + "\n");
    } else {
      gaps_ += (gaps_.empty() ? "\n" : ",\n") + json;
    }
  }

  void end() {
    if (format_ == ExportFormat::kJson)
      append(piece_, "\n]" + (gaps_.empty() ? "" : ",\"gaps\":[" + gaps_ + "\n]") + "}\n");
  }

 private:
  static std::string json_bound(const std::string& text) {
    return text.empty() ? "null" : '"' + text + '"';
  }

  void point(const Label& label, std::int64_t time, std::optional<std::int64_t> step,
             double value) {
    const fmt::appender out(piece_);
    if (format_ == ExportFormat::kCsv) {
      fmt::format_to(out, FMT_COMPILE("{},{},"), label.csv, time);
      if (step) fmt::format_to(out, FMT_COMPILE("{}"), *step);
      piece_.push_back(',');
      append_number(piece_, value);
      piece_.push_back('\n');
      return;
    }
    if (format_ == ExportFormat::kJson) append(piece_, std::exchange(separator_, ",\n"));
    fmt::format_to(out, FMT_COMPILE("{{{}{},\"time_ns\":\"{}\",\"step\":"), before_, label.json,
                   time);
    if (step) {
      fmt::format_to(out, FMT_COMPILE("\"{}\""), *step);
    } else {
      append(piece_, "null");
    }
    const std::string_view quote = std::isfinite(value) ? "" : "\"";
    append(piece_, ",\"value\":");
    append(piece_, quote);
    append_number(piece_, value);
    append(piece_, quote);
    append(piece_, format_ == ExportFormat::kJsonLines ? "}\n" : "}");
  }

  const ExportFormat format_;
  const std::string run_;
  std::unordered_map<SeriesId, Label> labels_;
  Text piece_;
  std::string gaps_, before_;
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
    rows->drain(text);
    return more;
  };
}

}  // namespace corral::query
