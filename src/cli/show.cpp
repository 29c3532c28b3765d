#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::cli {
namespace {

constexpr const char* kShowExamples =
    "  corral show @1                   the newest run\n"
    "  corral show @1 --all             also its environment and the hardware\n"
    "  corral show 3f2a --format json   all facts as JSON\n"
    "  corral show @1 --check-trace     check that its phases are complete\n";

void print_pairs(const char* title, const Json& object) {
  const auto* pairs = object.as_object();
  if (pairs == nullptr || pairs->empty()) return;
  fmt::print("\n{}\n", title);
  for (const auto& [key, value] : *pairs) {
    const std::string text = plain(value).text;
    const auto lines = std::ranges::count(text, '\n');  // a list or a patch; JSON has it whole
    fmt::print("  {:<20} {}\n", printable(key),
               lines > 0 ? fmt::format("{} lines", lines) : printable(text));
  }
}

// Without `all`, those that are not Corral's own.
void print_metrics(const Json& metrics, bool all) {
  Json::Array shown = items(metrics, "metrics");
  if (!all) {
    const auto is_known = [](const Json& metric) {
      return metric.get_string("group") != "software" || !metric.get_string("alias_of").empty();
    };
    std::erase_if(shown, is_known);
  }
  if (shown.empty()) return;
  const Table table = list_of(shown, {{"name", "METRIC"},
                                      {"source", "SOURCE"},
                                      {"points", "POINTS", true},
                                      {"last", "LAST", true, statistic},
                                      {"min", "MIN", true, statistic},
                                      {"max", "MAX", true, statistic},
                                      {"mean", "MEAN", true, statistic}});
  fmt::print("\n{}", table.print("table"));
}

// "capture.keras.fit (rank 3)"
std::string part_text(const Json& part) {
  const std::string process = part.get_string("process");
  return printable(part.get_string("part")) + (process.empty() ? "" : " (" + process + ")");
}

void print_coverage(const Json& health) {
  const auto* lanes = member(health, "coverage").as_array();
  if (lanes == nullptr) return;
  if (lanes->empty()) fmt::print("  {:<20} none were recorded\n", "phases");
  for (const Json& lane : *lanes)
    fmt::print("  {:<20} cover {:.1f} % of the run ({})\n", "phases",
               member(lane, "share").as_double(0) * 100, printable(lane.get_string("lane")));
}

// Prints the active parts on one line, and each other part on its own line with its reason; without
// `all`, only problems.
void print_health(const Json& health, bool all) {
  const Json::Array& parts = items(health, "parts");
  if (parts.empty()) return;
  fmt::print("\nHealth\n");
  std::vector<std::string> active;
  for (const Json& part : parts) {
    if (part.get_string("state") == "active") active.push_back(part_text(part));
  }
  if (all && !active.empty()) fmt::print("  {:<20} {}\n", "active", join(active, ", "));
  for (const Json& part : parts) {
    const std::string state = part.get_string("state");
    if (state != "active" && (all || part.get_bool("problem")))
      fmt::print("  {:<20} {}: {}\n", state, part_text(part), printable(part.get_string("reason")));
  }
  print_coverage(health);
}

void print_head(const Json& run) {
  const std::string command = plain_words(items(run, "command"));
  fmt::print("{}  {}\n", printable(run.get_string("name")), run.get_string("id"));
  fmt::print("  {:<20} {}\n", "status", ending_text(run));
  if (const std::string reason = member(run, "tags").get_string("corral.outcome.reason");
      !reason.empty())
    fmt::print("  {:<20} {}\n", "reason", printable(reason));
  fmt::print("  {:<20} {}\n", "experiment", printable(run.get_string("experiment")));
  if (!run.get_string("workload").empty())
    fmt::print("  {:<20} {}\n", "workload", printable(run.get_string("workload")));
  fmt::print("  {:<20} {}\n", "started", time_text(member(run, "start_ns")));
  fmt::print("  {:<20} {}\n", "duration", duration_text(member(run, "duration_s")));
  if (const std::string noise = noise_text(run); !noise.empty())
    fmt::print("  {:<20} {}\n", "noise", printable(noise));
  fmt::print("  {:<20} {}\n", "host", printable(run.get_string("host")));
  if (const std::string creator = run.get_string("creator"); !creator.empty())
    fmt::print("  {:<20} {}\n", "recorded by", printable(creator));
  fmt::print("  {:<20} {}\n", "command", printable(command));
}

// The newest value of a process's metric; NaN: it has none.
double last_of(const Json& metrics, std::string_view name, const std::string& source) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (const Json& metric : items(metrics, "metrics")) {
    if (metric.get_string("name") == name && metric.get_string("source") == source)
      return member(metric, "last").as_double(kNone);
  }
  return kNone;
}

std::string source_of(const Json& process) {
  const auto rank = process.get_int("rank", -1);
  return rank >= 0 ? fmt::format("rank{}", rank) : process.get_string("host");
}

// The clock of a source against the server's: "100 ms ahead (± 300 µs)".
std::string clock_of(const std::string& source, const Json& metrics) {
  const double offset = last_of(metrics, metric::kClockOffset, source);
  const double error = last_of(metrics, metric::kClockError, source);
  if (!std::isfinite(offset) || !std::isfinite(error)) return "";
  if (std::abs(offset) <= error) return "same within " + precise_duration(error);
  return fmt::format("{} {} (± {})", precise_duration(std::abs(offset)),
                     offset > 0 ? "behind" : "ahead", precise_duration(error));
}

void print_members(const Json& run, const Json& metrics) {
  Json::Array members = items(run, "members");
  if (members.size() < 2) return;
  // The newest attempt comes first, and has measured last.
  std::set<std::string> seen;
  for (Json& process : members) {
    const std::string source = source_of(process);
    if (!seen.insert(source).second) continue;
    std::string clock = clock_of(source, metrics);
    // A batch script that started again was alone at first.
    if (clock.empty() && seen.size() == 1) clock = clock_of("", metrics);
    process.set("clock", clock);
  }
  const Table table = list_of(members, {{"member", "MEMBER", true},
                                        {"attempt", "ATTEMPT", true},
                                        {"rank", "RANK", true},
                                        {"host", "HOST"},
                                        {"clock", "CLOCK"},
                                        {"status", "STATUS"},
                                        {"outcome", "OUTCOME"},
                                        {"reason", "REASON"}});
  fmt::print("\n{}", table.print("table"));
}

// Only with steps or epochs is there something to say.
void print_explanation(const Result<Json>& found) {
  if (found && items(*found, "parts").empty()) return;
  fmt::print("\n{}\n", found ? printable(found->get_string("summary"))
                             : "It cannot be explained: " + printable(found.error().message));
}

Json without_own(const Json& tags) {
  Json::Object kept;
  if (const auto* all = tags.as_object()) {
    for (const auto& [key, value] : *all)
      if (!key.starts_with("corral.")) kept.emplace_back(key, value);
  }
  return kept;
}

void print_environment(const Json& run) {
  print_pairs("Environment", member(run, "info"));
  const Json::Array& missing = items(run, "unavailable");
  if (!missing.empty()) fmt::print("\nNot available\n");
  for (const Json& m : missing)
    fmt::print("  {:<20} {}\n", printable(m.get_string("source")),
               printable(m.get_string("reason")));
}

void print_drops(const Json& run) {
  if (const auto* drops = member(run, "drops").as_object()) {
    for (const auto& [what, count] : *drops) {
      if (count.as_double(0) > 0) fmt::print("\nLost: {} {}\n", plain(count).text, what);
    }
  }
}

// Prints the server's findings; the exit status is kFailed if there are any.
Result<int> check_trace(const sys::HttpTarget& server, const std::string& path,
                        const std::string& format) {
  const Json report = TRY(send_json(
      server, {.path = path + "/check-trace", .body = {}, .timeout = std::chrono::hours(1)}));
  const bool good = report.get_bool("ok");
  if (format == "json") {
    fmt::print("{}\n", report.dump());
    return good ? kDone : kFailed;
  }
  fmt::print("{} phases\n", plain(member(report, "phases")).text);
  for (const Json& problem : items(report, "problems"))
    fmt::print("  {}\n", printable(plain(problem).text));
  fmt::print("{}\n", good ? "nothing is wrong" : "something is wrong");
  return good ? kDone : kFailed;
}

struct ShowFlags {
  DestinationFlags destination;
  std::string run;
  std::string format = "table";
  bool check = false;
  bool all = false;
};

Result<int> show(const ShowFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  if (flags.check) return check_trace(server, run_path(flags.run), flags.format);
  Json run = TRY(get_json(server, run_path(flags.run)));
  // "@1" may be another run by now.
  const std::string path = run_path(run.get_string("id"));
  const Json metrics = TRY(get_json(server, path + "/metrics"));
  const Json health = TRY(get_json(server, path + "/health"));
  if (flags.format == "json") {
    run.set("metrics", member(metrics, "metrics"));
    run.set("health", Json::Object{{"parts", member(health, "parts")},
                                   {"coverage", member(health, "coverage")}});
    fmt::print("{}\n", run.dump());
    return kDone;
  }
  print_head(run);
  print_members(run, metrics);
  print_explanation(get_json(server, path + "/explain"));
  print_pairs("Params", member(run, "params"));
  print_pairs("Tags", flags.all ? member(run, "tags") : without_own(member(run, "tags")));
  if (flags.all) print_environment(run);
  print_drops(run);
  print_health(health, flags.all);
  print_metrics(metrics, flags.all);
  if (!flags.all) fmt::print("\nMore: --all, or corral explain\n");
  return kDone;
}

}  // namespace

int show_command(std::span<char* const> args) {
  ShowFlags flags;
  Arguments arguments(
      "show",
      "Shows one run: command, host, times, outcome, where its time went, and a summary "
      "of each metric that it logged.",
      kShowExamples);
  arguments.positional("run", flags.run, kRunHelp, true);
  arguments.choice("format", flags.format, {"table", "json"}, "output format (default: table)");
  arguments.flag("all", flags.all,
                 "also its environment, Corral's tags, and the metrics of the hardware");
  arguments.as_flag_only("all");
  arguments.flag("check-trace", flags.check,
                 "check that phases are complete; exit status 1 if not");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("show", show(flags));
}

}  // namespace corral::cli
