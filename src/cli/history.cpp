#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/group_flags.h"
#include "cli/text_page.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kHistoryExamples =
    "  corral history nightly                           time per step of all runs of this name\n"
    "  corral history nightly --by params.model         one for each model\n"
    "  corral history nightly --metric val_acc --of last --better greater\n"
    "  corral history nightly --check                   exit with 1 if it became worse\n"
    "  corral history nightly --at-most 0.12 --check    or if the newest run is above 0.12 "
    "s/step\n";

constexpr std::size_t kFewRuns = 6;

struct HistoryFlags {
  DestinationFlags destination;
  GroupFlags of;
  std::string better, at_least, at_most, format = "table";
  bool check = false;
};

// "1.31 × (1.27 to 1.35)"
std::string ratio_text(const Json& change) {
  std::string text = fmt::format("{:.3g} ×", member(change, "ratio").as_double(1));
  if (!member(change, "low").is_null())
    text += fmt::format(" ({:.3g} to {:.3g})", member(change, "low").as_double(1),
                        member(change, "high").as_double(1));
  return text + (change.get_bool("confirmed") ? "" : ", suspected");
}

// The name and commit of a segment's first or last unit.
std::string unit_text(const Json& history, std::int64_t index) {
  constexpr std::size_t kDigits = 8;
  const Json& unit = items(history, "units")[static_cast<std::size_t>(index)];
  const std::string commit = unit.get_string("commit").substr(0, kDigits);
  return printable(unit.get_string("name")) + (commit.empty() ? "" : " " + printable(commit));
}

void print_run_history(const TextPage& page, const Json& history) {
  constexpr std::size_t kMost = 8;
  page.title(printable(history.get_string("name")));
  const std::string unit = history.get_string("unit");
  const Json::Array& changes = items(history, "changes");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < items(history, "segments").size(); ++i) {
    const Json& segment = items(history, "segments")[i];
    rows.push_back(
        {unit_text(history, segment.get_int("first")), unit_text(history, segment.get_int("last")),
         std::to_string(segment.get_int("n")), value_in_unit(member(segment, "mean"), unit),
         value_in_unit(member(segment, "low"), unit), value_in_unit(member(segment, "high"), unit),
         i > 0 ? ratio_text(changes[i - 1]) : "–"});
  }
  if (rows.empty()) {
    page.line("No run of it has such a value.");
    for (const Json& one : items(history, "units"))
      if (rows.size() < kMost)
        rows.push_back({printable(one.get_string("name")), printable(one.get_string("reason"))});
    if (!rows.empty()) page.table({"RUN", "REASON"}, rows);
    return;
  }
  page.table({"FROM", "TO", "RUNS", "MEAN", "LOW", "HIGH", "CHANGE"}, rows);
  const auto& units = items(history, "units");
  const auto is_beyond = [](const Json& one) { return one.get_bool("beyond"); };
  if (const auto beyond = std::ranges::count_if(units, is_beyond); beyond > 0)
    page.line(fmt::format("{} of {} runs are beyond the limits.", beyond, units.size()));
  const auto is_outlier = [](const Json& one) { return one.get_bool("outlier"); };
  if (const auto outliers = std::ranges::count_if(units, is_outlier); outliers > 0)
    page.line(fmt::format("{} run{} counted as the median of those around.", outliers,
                          outliers == 1 ? "" : "s"));
  for (const Json& change : changes) page.line(printable(change.get_string("text")));
  if (changes.empty()) {
    page.line("No change was found.");
    return;
  }
  rows.clear();
  for (const Json& set_up : items(changes.back(), "set_up"))
    if (rows.size() < kMost)
      rows.push_back({printable(set_up.get_string("part")), brief(set_up.get_string("key")),
                      brief(set_up.get_string("a")), brief(set_up.get_string("b"))});
  if (!rows.empty()) page.table({"SET-UP", "WHAT", "BEFORE", "AFTER"}, rows);
}

void print_history_csv(const Json& found) {
  Table table({{"history", "history"},
               {"run", "run"},
               {"commit", "commit"},
               {"start_ns", "start_ns"},
               {"value", "value"},
               {"unit", "unit"},
               {"segment", "segment"},
               {"reason", "reason"}});
  for (const Json& history : items(found, "histories"))
    for (const Json& one : items(history, "units"))
      table.add({plain(member(history, "name")), plain(member(one, "name")),
                 plain(member(one, "commit")), plain(member(one, "start_ns")),
                 plain(member(one, "value")), plain(member(history, "unit")),
                 plain(member(one, "segment")), plain(member(one, "reason"))});
  fmt::print("{}", table.print("csv"));
}

// The exit status: 1 if the newest runs of a history are worse than those before them, or if that
// cannot be known.
int check_newest(const Json& found) {
  int status = kDone;
  const auto tell = [](const Json& history, const std::string& text) {
    fmt::print(stderr, "corral history: --check: {}: {}\n", printable(history.get_string("name")),
               text);
  };
  for (const Json& history : items(found, "histories")) {
    const Json::Array& units = items(history, "units");
    const auto has_value = [](const Json& unit) { return !member(unit, "value").is_null(); };
    const auto known = std::ranges::count_if(units, has_value);
    const Json& newest = member(history, "newest");
    const bool limited =
        !member(found, "at_least").is_null() || !member(found, "at_most").is_null();
    const bool measured = !units.empty() && !member(units.back(), "measured").is_null();
    if (limited && measured && !units.back().get_bool("beyond")) {
      tell(history, "within the limits; " + printable(units.back().get_string("reason")));
    } else if ((known == 0 || !has_value(units.back())) && !(limited && measured)) {
      tell(history, "cannot be judged: " +
                        (units.empty() ? "it has no runs"
                                       : "the newest run has no value: " +
                                             printable(units.back().get_string("reason"))));
      status = kFailed;
    } else if (units.back().get_bool("beyond")) {
      tell(history, fmt::format("the newest run is beyond the limits: {}",
                                value_in_unit(member(units.back(), measured ? "measured" : "value"),
                                              history.get_string("unit"))));
      status = kFailed;
    } else if (newest.get_bool("worse")) {
      tell(history, printable(newest.get_string("text")));
      status = kFailed;
    } else if (static_cast<std::size_t>(known) < kFewRuns) {
      tell(history, fmt::format("only {} runs: too few to find a change", known));
    }
  }
  return status;
}

Result<> set_limit(Json& question, const char* name, const std::string& text) {
  if (text.empty()) return {};
  const auto limit = parse_double(text);
  if (!limit || !std::isfinite(*limit))
    return fail(Code::kInvalidArgument,
                fmt::format("--{} '{}': expected a number, in the unit of the value (s, s/step)",
                            std::string_view(name) == "at_least" ? "at-least" : "at-most",
                            printable(text)));
  question.set(name, *limit);
  return {};
}

Result<int> history(const HistoryFlags& flags) {
  const bool of_time = is_of_time(flags.of);
  const bool limited = !flags.at_least.empty() || !flags.at_most.empty();
  if (flags.check && !of_time && flags.better.empty() && !limited)
    return fail(Code::kInvalidArgument,
                "--check of a metric needs --better less, --better greater or a limit");
  if (of_time && !flags.better.empty())
    return fail(Code::kInvalidArgument, "--better is for metrics: of times less is better");
  Json question = TRY(group_question(flags.of));
  if (!flags.better.empty()) question.set("better", flags.better);
  TRY(set_limit(question, "at_least", flags.at_least));
  TRY(set_limit(question, "at_most", flags.at_most));
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const Json found = TRY(ask_about_groups(server, "history", question));
  if (flags.format == "json") {
    fmt::print("{}\n", found.dump());
  } else if (flags.format == "csv") {
    print_history_csv(found);
  } else {
    const TextPage page(flags.format);
    page.heading(fmt::format("{}, changes above {:.3g} %", printable(found.get_string("value")),
                             member(found, "margin").as_double(0) * 100));
    for (const Json& one : items(found, "histories")) print_run_history(page, one);
  }
  return flags.check ? check_newest(found) : kDone;
}

}  // namespace

int history_command(std::span<char* const> args) {
  HistoryFlags flags;
  Arguments arguments("history",
                      "Shows how a value of runs changed from one to the next, and between which "
                      "commits.",
                      kHistoryExamples);
  add_group_flags(arguments, flags.of);
  arguments.choice("better", flags.better, {"less", "greater"},
                   "values of the metric (for --check)");
  arguments.text("at-least", flags.at_least, "limit of the values, in their unit (s, s/step, ...)");
  arguments.text("at-most", flags.at_most, "limit of the values, in their unit");
  arguments.flag("check", flags.check,
                 "exit with 1 if the newest runs became worse or pass a limit");
  for (const char* name : {"better", "at-least", "at-most", "check"}) arguments.as_flag_only(name);
  arguments.choice("format", flags.format, {"table", "json", "csv", "markdown", "latex"},
                   "output format (default: table)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("history", history(flags));
}

}  // namespace corral::cli
