// corral store check and stats: read only, beside a running server.
#include "store/maintain/check.h"

#include <fmt/core.h>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "cli/store_verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "store/maintain/stats.h"

namespace corral::cli {
namespace {

using store::maintain::CheckReport;
using store::maintain::StoreStats;

constexpr const char* kStoreHelp =
    "directory, backup or postgresql://USER@HOST/DB (~/.local/share/corral)";

std::string size_text(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// ---- check
Json json_of(const CheckReport& report, const StorePlace& place) {
  Json::Array findings;
  for (const auto& finding : report.findings) {
    Json::Array runs;
    for (const RunId run : finding.runs) runs.emplace_back(run.hex());
    findings.emplace_back(
        Json::Object{{"table", finding.table}, {"what", finding.what}, {"runs", std::move(runs)}});
  }
  return Json::Object{{"store", place.name},
                      {"ok", report.problems == 0},
                      {"problems", static_cast<std::int64_t>(report.problems)},
                      {"findings", std::move(findings)},
                      {"read", Json::Object{{"runs", report.runs},
                                            {"sessions", report.sessions},
                                            {"series", report.series},
                                            {"batches", report.batches},
                                            {"row_groups", report.row_groups},
                                            {"blocks", report.blocks},
                                            {"pyramid_rows", report.pyramid_rows}}}};
}

void print(const CheckReport& report, const StorePlace& place) {
  for (const auto& finding : report.findings) {
    std::string runs;
    for (const RunId run : finding.runs) runs += " " + run.hex();
    fmt::print("{}: {}{}\n", finding.table, finding.what,
               runs.empty() ? "" : "\n    touches run" + runs);
  }
  if (report.problems > report.findings.size())
    fmt::print("... and {} more\n", report.problems - report.findings.size());
  fmt::print(
      "{}: {} runs, {} sessions, {} series, {} batch rows, {} row groups, {} blocks, {} "
      "pyramid rows read\n",
      place.name, report.runs, report.sessions, report.series, report.batches, report.row_groups,
      report.blocks, report.pyramid_rows);
  if (report.problems == 0) {
    fmt::print("all is well\n");
  } else {
    fmt::print("{} problem{}; docs/store.md says what to do about each kind\n", report.problems,
               report.problems == 1 ? "" : "s");
  }
}

// ---- stats
Json json_of(const StoreStats& stats, const StorePlace& place) {
  Json::Array tables, levels, biggest;
  for (const auto& t : stats.tables)
    tables.emplace_back(Json::Object{
        {"table", t.name}, {"rows", t.rows}, {"bytes", t.bytes ? Json(*t.bytes) : Json()}});
  for (const auto& l : stats.levels)
    levels.emplace_back(Json::Object{{"level", l.name}, {"points", l.points}, {"bytes", l.bytes}});
  for (const auto& r : stats.biggest)
    biggest.emplace_back(Json::Object{{"id", r.id.hex()}, {"name", r.name}, {"bytes", r.bytes}});
  const Json per_point =
      stats.points == 0
          ? Json()
          : Json(static_cast<double>(stats.bytes) / static_cast<double>(stats.points));
  Json oldest;
  if (stats.oldest_start) {
    oldest = Json::Object{{"name", stats.oldest_run},
                          {"start_ns", std::to_string(ns_of(*stats.oldest_start))}};
  }
  return Json::Object{{"store", place.name},          {"schema", stats.schema},
                      {"bytes", stats.bytes},         {"points", stats.points},
                      {"bytes_per_point", per_point}, {"experiments", stats.experiments},
                      {"runs", stats.runs},           {"sessions", stats.sessions},
                      {"series", stats.series},       {"levels", std::move(levels)},
                      {"tables", std::move(tables)},  {"biggest_runs", std::move(biggest)},
                      {"oldest_run", oldest}};
}

void print(const StoreStats& stats, const StorePlace& place) {
  fmt::print("{}, schema {}\n  {} on disk, {} points", place.name, stats.schema,
             size_text(stats.bytes), stats.points);
  if (stats.points > 0)
    fmt::print(", {:.2f} bytes per point, everything included",
               static_cast<double>(stats.bytes) / static_cast<double>(stats.points));
  fmt::print("\n  {} experiments, {} runs, {} sessions, {} series\n", stats.experiments, stats.runs,
             stats.sessions, stats.series);
  if (stats.oldest_start) {
    fmt::print("  oldest run {}, {}\n", printable(stats.oldest_run),
               time_text(Json(std::to_string(ns_of(*stats.oldest_start)))));
  }
  fmt::print("\n  {:<14} {:>16} {:>12}\n", "level", "points", "bytes");
  for (const auto& l : stats.levels)
    fmt::print("  {:<14} {:>16} {:>12}\n", l.name, l.points, size_text(l.bytes));
  fmt::print("\n  {:<14} {:>16} {:>12}\n", "table", "rows", "data");
  for (const auto& t : stats.tables)
    fmt::print("  {:<14} {:>16} {:>12}\n", t.name, t.rows, t.bytes ? size_text(*t.bytes) : "");
  if (!stats.biggest.empty()) fmt::print("\n  biggest runs\n");
  for (const auto& r : stats.biggest)
    fmt::print("  {}  {:>12}  {}\n", r.id.hex(), size_text(r.bytes), printable(r.name));
}

struct Flags {
  std::string store;
  bool json = false;
};

template <class Report>
int show(const char* verb, const Flags& flags,
         const std::function<Result<Report>(const store::RawStore&, Progress&)>& read,
         const std::function<int(const Report&)>& status) {
  const auto place = place_of(flags.store);
  if (!place) return store_failed(verb, place.error());
  Progress progress;
  const auto raw = open_to_read(*place);
  if (!raw) return store_failed(verb, raw.error());
  progress.guard(*raw);
  const auto report = read(*raw, progress);
  progress.clear();
  if (!report) return store_failed(verb, report.error());
  if (flags.json) {
    fmt::print("{}\n", json_of(*report, *place).dump());
  } else {
    print(*report, *place);
  }
  return status(*report);
}

}  // namespace

int store_check(std::span<char* const> args) {
  Flags flags;
  Arguments arguments(
      "store check",
      "Verifies every checksum and invariant of the store, also while a server "
      "writes. Lists each problem with the runs it affects. Exit status: 0 if there "
      "is none, else 1.",
      "  corral store check\n  corral store check --store monday.corral --json\n");
  arguments.text("store", flags.store, kStoreHelp);
  arguments.flag("json", flags.json, "print one JSON document");
  if (const auto status = arguments.parse(args)) return *status;
  return show<CheckReport>(
      "check", flags,
      [](const store::RawStore& raw, Progress& progress) {
        return store::maintain::check_store(raw, progress.watch());
      },
      [](const CheckReport& report) { return report.problems == 0 ? kDone : kFailed; });
}

int store_stats(std::span<char* const> args) {
  Flags flags;
  std::int64_t runs = 10;
  Arguments arguments("store stats",
                      "Shows points and bytes by level, table and run, also while a server writes.",
                      "  corral store stats\n  corral store stats --runs 50 --json\n");
  arguments.text("store", flags.store, kStoreHelp);
  arguments.bytes("runs", runs, "number of largest runs to list (default: 10)");
  arguments.flag("json", flags.json, "print one JSON document");
  if (const auto status = arguments.parse(args)) return *status;
  return show<StoreStats>(
      "stats", flags,
      [&](const store::RawStore& raw, Progress& progress) {
        return store::maintain::store_stats(
            raw, static_cast<std::size_t>(std::max<std::int64_t>(runs, 0)), progress.watch());
      },
      [](const StoreStats&) { return kDone; });
}

}  // namespace corral::cli
