#include "run/record/profile_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "core/json.h"
#include "core/text.h"

namespace corral::run {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kMostTop = 30;
constexpr std::size_t kNameBytes = 500;
constexpr double kMostAmount = 1e18;
constexpr auto kKinds =
    std::to_array<std::string_view>({"kernel", "communication", "memory copy", "memory set"});

// Returns the fields of a line; a quote within a quoted field is doubled.
Row fields_of(std::string_view line) {
  Row fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

// Returns the index of the first column whose name begins with one of `names`.
std::optional<std::size_t> column(const Row& header, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view field = trim(header[i]);
    if (std::ranges::any_of(names, [&](std::string_view name) { return field.starts_with(name); }))
      return i;
  }
  return std::nullopt;
}
std::optional<std::size_t> column(const Row& header, std::string_view name) {
  return column(header, std::span(&name, 1));
}

// Parses a time in any unit, or a number of calls.
std::optional<double> number(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(trim(text), std::back_inserter(digits), [](char c) { return c != ','; });
  const auto value = parse_double(digits);
  return value && *value >= 0 && *value <= kMostAmount ? value : std::nullopt;
}

// Returns the milliseconds of one unit; nullopt if the word is no unit of time.
std::optional<double> unit_ms(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  static constexpr auto kUnits = std::to_array<Unit>({{"ns", 1e-6},
                                                      {"nsecond", 1e-6},
                                                      {"us", 1e-3},
                                                      {"usecond", 1e-3},
                                                      {"ms", 1},
                                                      {"msecond", 1},
                                                      {"s", 1e3},
                                                      {"second", 1e3}});
  const auto* found = std::ranges::find(kUnits, trim(unit), &Unit::name);
  return found == kUnits.end() ? std::nullopt : std::optional(found->ms);
}

std::string kind_of(std::string_view name) {
  const std::string lower = lower_ascii(name);
  if (lower.starts_with("[cuda memcpy")) return "memory copy";
  if (lower.starts_with("[cuda memset")) return "memory set";
  const bool collective =
      lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos;
  return collective ? "communication" : "kernel";
}

// Returns the rows of a table; the tools print messages of their own before it.
std::vector<Row> rows_from(std::string_view csv, std::string_view first_column) {
  std::vector<Row> rows;
  for (const std::string_view line : split(csv, '\n')) {
    Row row = fields_of(line);
    if (rows.empty() && !column(row, first_column)) continue;
    if (!rows.empty() && row.size() < rows[0].size()) continue;  // an empty or a foreign line
    rows.push_back(std::move(row));
  }
  return rows;
}

// Sums the calls of kernels; each call has one or several rows.
class Kernels {
 public:
  void add(const std::string& name, double ms) {
    DeviceTime& time = times_[name];
    time.name = name;
    time.kind = kind_of(name);
    ++time.calls;
    time.ms += ms;
  }
  std::vector<DeviceTime> take() {
    std::vector<DeviceTime> all;
    for (auto& [name, time] : times_) all.push_back(std::move(time));
    return all;
  }

 private:
  std::map<std::string, DeviceTime> times_;
};

// "Metric Name", "Metric Unit", "Metric Value": a row for each metric of each kernel.
Result<std::vector<DeviceTime>> ncu_details(const std::vector<Row>& rows, std::size_t kernel) {
  const auto metric = column(rows[0], "Metric Name");
  const auto unit = column(rows[0], "Metric Unit");
  const auto value = column(rows[0], "Metric Value");
  if (!metric || !unit || !value) return fail(Code::kUnsupported, "it names no durations");
  Kernels kernels;
  for (const Row& row : std::span(rows).subspan(1)) {
    if (row[*metric] != "Duration" && !row[*metric].starts_with("gpu__time_duration")) continue;
    const auto amount = number(row[*value]);
    const auto ms = unit_ms(row[*unit]);
    if (amount && ms) kernels.add(row[kernel], *amount * *ms);
  }
  return kernels.take();
}

// A column for each metric; the row below the header has the units.
Result<std::vector<DeviceTime>> ncu_raw(const std::vector<Row>& rows, std::size_t kernel,
                                        std::size_t duration) {
  if (rows.size() < 2) return std::vector<DeviceTime>();
  const auto ms = unit_ms(rows[1][duration]);
  if (!ms) return fail(Code::kUnsupported, "durations have no unit that is known");
  Kernels kernels;
  for (const Row& row : std::span(rows).subspan(2)) {
    if (const auto amount = number(row[duration])) kernels.add(row[kernel], *amount * *ms);
  }
  return kernels.take();
}

std::string cut(const std::string& name) {
  std::string text = to_utf8(name);
  if (text.size() > kNameBytes)
    text.resize(utf8_prefix(std::string_view(text).substr(0, kNameBytes)));
  return text;
}

Json kinds_of(const std::vector<DeviceTime>& times, double sum) {
  Json::Array kinds;
  for (const std::string_view kind : kKinds) {
    double ms = 0;
    for (const DeviceTime& time : times) ms += time.kind == kind ? time.ms : 0;
    if (ms > 0) kinds.emplace_back(Json::Object{{"kind", kind}, {"ms", ms}, {"share", ms / sum}});
  }
  return kinds;
}

}  // namespace

Result<std::vector<DeviceTime>> parse_nsys_table(std::string_view csv) {
  constexpr std::array<std::string_view, 2> kNames = {"Name", "Operation"};
  constexpr std::array<std::string_view, 4> kCalls = {"Instances", "Count", "Num Calls",
                                                      "Operations"};
  const std::vector<Row> rows = rows_from(csv, "Total Time");
  std::vector<DeviceTime> times;
  if (rows.empty()) {
    // "SKIPPED: report.sqlite does not contain CUDA kernel data."
    if (csv.find("does not contain") != std::string_view::npos || trim(csv).empty()) return times;
    return fail(Code::kUnsupported, "it has no column 'Total Time'");
  }
  const auto total = column(rows[0], "Total Time");
  const auto calls = column(rows[0], kCalls);
  const auto name = column(rows[0], kNames);
  const std::string& title = rows[0][*total];
  const std::size_t bracket = title.find('(');
  const auto ms = bracket == std::string::npos
                      ? std::optional(1e-6)
                      : unit_ms(title.substr(bracket + 1, title.find(')') - bracket - 1));
  if (!calls || !name || !ms) return fail(Code::kUnsupported, "its columns are not known");
  for (const Row& row : std::span(rows).subspan(1)) {
    const auto amount = number(row[*total]);
    const auto count = number(row[*calls]);
    if (!amount || !count) continue;
    times.push_back({.name = row[*name],
                     .kind = kind_of(row[*name]),
                     .calls = static_cast<std::int64_t>(*count),
                     .ms = *amount * *ms});
  }
  return times;
}

Result<std::vector<DeviceTime>> parse_ncu_table(std::string_view csv) {
  const std::vector<Row> rows = rows_from(csv, "Kernel Name");
  if (rows.empty()) {
    if (csv.find("No kernels were profiled") != std::string_view::npos || trim(csv).empty())
      return std::vector<DeviceTime>();
    return fail(Code::kUnsupported, "it has no column 'Kernel Name'");
  }
  const std::size_t kernel = column(rows[0], "Kernel Name").value_or(0);
  if (const auto duration = column(rows[0], "gpu__time_duration"))
    return ncu_raw(rows, kernel, *duration);
  return ncu_details(rows, kernel);
}

std::string profile_summary(const ProfileWindow& window, const std::vector<DeviceTime>& times) {
  double sum = 0;
  for (const DeviceTime& time : times) sum += time.ms;
  std::vector<DeviceTime> most = times;
  std::ranges::stable_sort(most, std::greater<>(), &DeviceTime::ms);
  if (most.size() > kMostTop) most.resize(kMostTop);
  Json::Array top;
  for (const DeviceTime& time : most) {
    top.emplace_back(Json::Object{{"name", cut(time.name)},
                                  {"kind", time.kind},
                                  {"calls", time.calls},
                                  {"total_ms", time.ms},
                                  {"share", sum > 0 ? time.ms / sum : 0.0}});
  }
  Json summary = Json::Object{{"tool", window.tool}};
  if (window.steps) {
    summary.set("steps",
                Json::Object{{"first", window.steps->first}, {"last", window.steps->second}});
  }
  summary.set("start_ns", std::to_string(window.start_ns));
  summary.set("end_ns", std::to_string(window.end_ns));
  summary.set("total_ms", static_cast<double>(window.end_ns - window.start_ns) / 1e6);
  summary.set("by_kind", kinds_of(times, sum));
  summary.set("top", std::move(top));
  return summary.dump();
}

}  // namespace corral::run
