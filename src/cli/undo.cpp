#include "collocate/undo.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/table.h"
#include "core/text.h"
#include "run/schedule/recovery.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

constexpr const char* kUndoExamples =
    "  corral undo             revert what a killed `corral run` left changed\n"
    "  corral undo --dry-run   print what would be reverted\n"
    "  corral undo --end-runs  first end the runs of a killed scheduler\n";

struct UndoFlags {
  std::string state;
  std::string format = "table";
  bool dry_run = false;
  bool end_runs = false;
};

struct StateWords {
  std::string_view name;  // for programs
  std::string text;
};

StateWords describe(const collocate::UndoLine& line, bool dry_run) {
  switch (line.state) {
    case collocate::UndoState::kPutBack:
      return {"put_back", dry_run ? "would be put back" : "put back"};
    case collocate::UndoState::kNothingLeft:
      return {"gone", "was gone"};
    case collocate::UndoState::kVoid:
      return {"void", "undone by a restart of the machine"};
    case collocate::UndoState::kInUse:
      return {"in_use", "waits: " + line.reason};
    case collocate::UndoState::kFailed:
      return {"failed", "failed: " + line.reason};
  }
  return {};
}

void print_undo(const collocate::UndoReport& report, const UndoFlags& flags) {
  Table table({{"change", "CHANGE"}, {"state", "STATE"}, {"reason", "REASON"}});
  for (const collocate::UndoLine& line : report.lines)
    table.add({plain(line.words), plain(describe(line, flags.dry_run).name), plain(line.reason)});
  if (flags.format != "table") {
    fmt::print("{}", table.print(flags.format));
    return;
  }
  for (const collocate::UndoLine& line : report.lines)
    fmt::print("{}: {}\n", printable(line.words), printable(describe(line, flags.dry_run).text));
  if (report.lines.empty() && report.notes.empty()) fmt::print("nothing to put back\n");
}

bool is_blocked(const collocate::UndoReport& report) {
  return std::ranges::any_of(report.lines, [](const collocate::UndoLine& line) {
    return line.state == collocate::UndoState::kInUse;
  });
}

}  // namespace

int undo_command(std::span<char* const> args) {
  UndoFlags flags;
  Arguments arguments(
      "undo",
      "Reverts what a killed `corral run` left changed on this machine: control groups, MIG, MPS, "
      "clocks, power caps. The next `corral run` of a plan does this automatically.",
      kUndoExamples);
  arguments.text("state", flags.state, "directory of journals (default: ~/.local/state/corral)");
  arguments.choice("format", flags.format, {"table", "json", "csv"}, "output format");
  arguments.flag("dry-run", flags.dry_run, "print what would be reverted, and exit");
  arguments.flag("end-runs", flags.end_runs, "end runs that block the revert");
  arguments.as_flag_only("state");
  arguments.as_flag_only("end-runs");
  if (const auto status = arguments.parse(args)) return *status;
  const std::filesystem::path state =
      flags.state.empty() ? collocate::default_state() : std::filesystem::path(flags.state);
  const collocate::UndoReport report =
      collocate::undo_all({.state = state,
                           .root = "/",
                           .nvml = sys::own_variable("CORRAL_NVML_LIBRARY"),
                           .mps_control = sys::own_variable("CORRAL_MPS_CONTROL"),
                           .dry_run = flags.dry_run,
                           .end_runs = flags.end_runs,
                           .commands_of = run::schedule::commands_of,
                           .scheduler_of = run::schedule::scheduler_of});
  print_undo(report, flags);
  for (const std::string& note : report.notes) fmt::print(stderr, "{}\n", printable(note));
  if (report.permissions > 0)
    fmt::print(stderr, "corral undo: {}\n", collocate::permission_advice(state));
  if (is_blocked(report)) {
    fmt::print(stderr, "corral undo: when those runs have ended it puts the rest back{}\n",
               flags.end_runs ? "" : "; --end-runs ends them");
  }
  return report.complete() ? kDone : kFailed;
}

}  // namespace corral::cli
