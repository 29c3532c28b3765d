#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/watch_session.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

constexpr const char* kWatchExamples =
    "  corral watch                   the newest run, until q\n"
    "  corral watch plan.csv          a plan: a row for each run; Enter opens one\n"
    "  corral watch @1 --once         one picture as text\n"
    "  corral watch @1 | tee log      a line every 10 s, until the run has ended\n";

constexpr Nanos kScreenInterval = std::chrono::milliseconds(500);
constexpr Nanos kLinesInterval = std::chrono::seconds(10);
constexpr std::size_t kPlainRows = 60;
constexpr std::size_t kMostPlainRows = 200;  // in a list

struct WatchFlags {
  DestinationFlags destination;
  std::string what = "@1";
  Nanos interval{0};  // 0: not given
  bool once = false;
  bool no_color = false;
};

// One picture; of a long list the part with the run that runs.
Result<int> print_once(WatchReader& reader) {
  const std::size_t columns = TerminalScreen::size().second;
  WatchSight sight{.list_line = list_line(columns), .detail_line = detail_line(columns)};
  const WatchState* state = &reader.refresh(sight);
  std::size_t rows = kPlainRows, more = 0;
  WatchPlace place;
  if (state->list) {
    const std::size_t all = state->list->rows.size();
    sight.rows = std::min(all, kMostPlainRows);
    place = moved({.chosen = first_running(*state->list)}, 0, all, sight.rows);
    sight.first_row = place.first;
    more = all - sight.rows;
    rows = sight.rows + kListFrame;
    state = &reader.refresh(sight);
  }
  if (!state->trouble.empty()) return fail(Code::kUnavailable, state->trouble);
  CellGrid grid(rows, columns);
  draw_watch(*state, place, more > 0 ? fmt::format("{} more runs are not shown", more) : "", grid);
  fmt::print("{}", grid.text());
  return kDone;
}

// A line for each change, until all runs have ended.
int print_lines(WatchReader& reader, Nanos interval) {
  std::string before;
  WatchSight sight{.rows = kMostPlainRows};
  for (;;) {
    const WatchState& state = reader.refresh(sight);
    if (state.list) sight.first_row = first_running(*state.list);
    if (std::string line = watch_line(state); line != before) {
      const std::string now = time_text(Json(std::to_string(ns_of(sys::utc_now()))));
      fmt::print("{} {}\n", now, line);
      std::fflush(stdout);
      before = std::move(line);
    }
    if (state.over()) return state.gone ? kFailed : kDone;
    sys::system_clock().sleep_until(sys::boot_now() + interval);
  }
}

// A run, else a workload, a plan or an experiment.
Result<WatchSubject> find_subject(const sys::HttpTarget& server, const std::string& what) {
  const auto run = get_json(server, run_path(what));
  if (run) return WatchSubject{.run = run->get_string("id")};
  const Code code = run.error().code;
  if (code != Code::kNotFound && code != Code::kInvalidArgument) return tl::unexpected(run.error());
  auto group = find_group(server, what);
  if (!group && group.error().code == Code::kNotFound && code == Code::kInvalidArgument)
    return tl::unexpected(run.error());
  return WatchSubject{.group = TRY(std::move(group))};
}

Result<int> watch(const WatchFlags& flags) {
  constexpr Nanos kLongest = std::chrono::hours(1);
  const bool given = flags.interval != Nanos(0);
  if (given && (flags.interval < kScreenInterval || flags.interval > kLongest))
    return fail(Code::kInvalidArgument, "--interval: must be 500ms to 1h");
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const WatchSubject subject = TRY(find_subject(server, flags.what));
  const std::atomic<bool> never = false;
  WatchReader reader(server, subject, never);
  if (flags.once) return print_once(reader);
  if (!TerminalScreen::usable())
    return print_lines(reader, given ? flags.interval : kLinesInterval);
  const bool colours = !flags.no_color && takes_colours(STDOUT_FILENO);
  const Nanos interval = given ? flags.interval : kScreenInterval;
  run::Signals signals;
  signals.add_terminal();
  WatchFeed feed(server, subject, interval);
  TerminalScreen terminal;  // restored before the feed ends
  return WatchSession(feed, terminal, signals, colours).show(interval);
}

}  // namespace

int watch_command(std::span<char* const> args) {
  WatchFlags flags;
  Arguments arguments("watch",
                      "Shows a run, a workload or a plan live in this terminal until q; without a "
                      "terminal it prints a line for each change, until all has ended.",
                      kWatchExamples);
  arguments.positional("run", flags.what,
                       "RUN as in `corral show`, workload, plan or experiment (default: @1)",
                       false);
  arguments.duration("interval", flags.interval,
                     "time between updates, from 500ms (default: 500ms, of lines 10s)");
  arguments.flag("once", flags.once, "print one picture as text and exit");
  arguments.flag("no-color", flags.no_color, "no colours; also with NO_COLOR in the environment");
  for (const char* name : {"interval", "once", "no-color"}) arguments.as_flag_only(name);
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("watch", watch(flags));
}

}  // namespace corral::cli
