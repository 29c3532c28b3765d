#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/run_changes.h"
#include "core/text.h"
#include "run/schedule/scheduler.h"

namespace corral::cli {
namespace {

constexpr const char* kRmExamples =
    "  corral rm @1                         moves the newest run to the trash\n"
    "  corral restore calm-otter-07         takes it back\n"
    "  corral rm --experiment digits        all runs of an experiment\n"
    "  corral rm @1 --now                   removes it for good, after asking\n"
    "  corral rm --trash                    removes what is in the trash for good\n";

struct RmFlags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string experiment;
  bool trash = false;
  bool now = false;
  bool yes = false;
  bool dry_run = false;
  bool force = false;
};

struct Target {
  std::string path;      // the route of the API
  std::string what;      // in words
  bool trashed = false;  // only while it is in the trash
};
struct Size {
  std::size_t runs = 0;
  std::int64_t points = 0, bytes = 0;
};

Result<std::string> experiment_id(const sys::HttpTarget& server, const std::string& name) {
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  for (const Json& one : items(answer, "experiments")) {
    if (one.get_string("name") == name) return one.get_string("id");
  }
  return fail(Code::kNotFound,
              fmt::format("no experiment '{}': corral ls experiments lists them", name));
}

// ---- to the trash
Result<std::vector<FoundRun>> runs_to_trash(const sys::HttpTarget& server, const RmFlags& flags) {
  if (flags.experiment.empty()) return find_runs(server, flags.runs);
  TRY(experiment_id(server, flags.experiment));
  return list_runs(server, {.state = "active", .experiment = flags.experiment});
}

constexpr std::size_t kShownDigits = 8;
constexpr std::size_t kMostNamed = 10;  // runs in one line

std::string undo_of(const RmFlags& flags, const std::vector<ChangedRun>& runs) {
  std::vector<std::string> words = {"corral", "restore"};
  if (!flags.experiment.empty()) {
    words.insert(words.end(), {"--experiment", printable(flags.experiment)});
  } else if (runs.size() > kMostNamed) {
    return "corral restore RUN...; corral ls trash lists them";
  } else {
    for (const ChangedRun& run : runs) words.push_back(run.id.substr(0, kShownDigits));
  }
  return run::schedule::shell_words(words);
}

Result<int> trash(const RmFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const auto found = TRY(runs_to_trash(server, flags));
  if (flags.dry_run) {
    for (const FoundRun& run : found) fmt::print("{}\n", run.what);
    fmt::print("{} would move to the trash\n", counted(found.size(), "run"));
    return kDone;
  }
  auto runs = TRY(change_runs(server, found, {.state = "trashed", .force = flags.force}));
  std::erase_if(runs, [](const ChangedRun& run) { return !run.changed; });
  if (runs.empty()) {
    fmt::print("nothing to move: already in the trash\n");
    return kDone;
  }
  fmt::print("moved {} to the trash, removed for good after 30 days\nundo: {}\n",
             counted(runs.size(), "run"), undo_of(flags, runs));
  return kDone;
}

// ---- for good
Result<std::vector<Target>> find_targets(const sys::HttpTarget& server, const RmFlags& flags) {
  std::vector<Target> targets;
  if (!flags.experiment.empty()) {
    targets.push_back(
        {.path = "/api/corral/v1/experiments/" + TRY(experiment_id(server, flags.experiment)),
         .what = "experiment " + printable(flags.experiment) + " with all its runs"});
    return targets;
  }
  const auto runs = flags.trash ? TRY(list_runs(server, {.state = "trashed"}))
                                : TRY(find_runs(server, flags.runs));
  for (const FoundRun& run : runs)
    targets.push_back({.path = run_path(run.id), .what = run.what, .trashed = flags.trash});
  return targets;
}

// Returns the size that the server removed or, in a dry run, would remove: nothing if somebody has
// restored or removed it since the trash was listed.
Result<Size> remove_target(const sys::HttpTarget& server, const Target& target, bool force,
                           bool dry_run) {
  auto answered =
      send_json(server, {.method = "DELETE",
                         .path = fmt::format("{}?force={}&dry_run={}{}", target.path, force,
                                             dry_run, target.trashed ? "&state=trashed" : ""),
                         .body = {},
                         .timeout = std::chrono::minutes(10)});
  if (!answered && answered.error().code == Code::kConflict)
    answered.error().message += " (--force)";
  if (!answered && target.trashed && answered.error().code == Code::kNotFound) return Size{};
  const Json answer = TRY(std::move(answered));
  return Size{.runs = items(answer, "runs").size(),
              .points = answer.get_int("points"),
              .bytes = answer.get_int("bytes")};
}

Result<Size> remove_all(const sys::HttpTarget& server, const std::vector<Target>& targets,
                        bool force, bool dry_run) {
  Size sum;
  for (const Target& target : targets) {
    const Size one = TRY(remove_target(server, target, force, dry_run));
    sum.runs += one.runs;
    sum.points += one.points;
    sum.bytes += one.bytes;
  }
  return sum;
}

std::string size_text(const Size& size) {
  return fmt::format("{}, {} points, {}", counted(size.runs, "run"), size.points,
                     with_unit(static_cast<double>(size.bytes), "B"));
}

// Returns the exit status, or nullopt to continue.
std::optional<int> confirm() {
  if (::isatty(STDIN_FILENO) == 0) {
    fmt::print(stderr, "corral rm: not a terminal; pass --yes to confirm\n");
    return kMisuse;
  }
  fmt::print("This cannot be undone. Remove? [y/N] ");
  std::fflush(stdout);
  if (read_yes()) return std::nullopt;
  fmt::print("nothing was removed\n");
  return kFailed;
}

Result<int> remove_for_good(const RmFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const std::vector<Target> targets = TRY(find_targets(server, flags));
  if (targets.empty()) {
    fmt::print("the trash is empty\n");
    return kDone;
  }
  // Asked before anything goes: one that is running stops it all.
  const Size planned = TRY(remove_all(server, targets, flags.force, true));
  if (flags.dry_run || !flags.yes) {
    for (const Target& target : targets) fmt::print("{}\n", target.what);
    fmt::print("{}{}\n", size_text(planned), flags.dry_run ? " would go" : "");
  }
  if (flags.dry_run) return kDone;
  if (!flags.yes) {
    if (const auto status = confirm()) return *status;
  }
  fmt::print("removed {}\n", size_text(TRY(remove_all(server, targets, flags.force, false))));
  return kDone;
}

}  // namespace

int rm_command(std::span<char* const> args) {
  RmFlags flags;
  Arguments arguments("rm",
                      "Moves runs, or all runs of an experiment, to the trash. Runs in the trash "
                      "are removed after 30 days.",
                      kRmExamples);
  arguments.positionals("run", flags.runs, kRunHelp, false);
  arguments.text("experiment", flags.experiment, "all runs of this experiment");
  arguments.flag("trash", flags.trash, "remove the runs in the trash for good");
  arguments.flag("now", flags.now, "remove for good instead, after asking");
  arguments.flag("yes", flags.yes, "do not ask before removing for good");
  arguments.flag("dry-run", flags.dry_run, "print what would happen, and exit");
  arguments.flag("force", flags.force, "also running runs, which are not stopped");
  add_destination(arguments, flags.destination);
  // The environment and the configuration file name an experiment to record in, not to remove.
  for (const char* name : {"experiment", "trash", "now"}) arguments.as_flag_only(name);
  if (const auto status = arguments.parse(args)) return *status;
  const int chosen = static_cast<int>(!flags.runs.empty()) +
                     static_cast<int>(!flags.experiment.empty()) + static_cast<int>(flags.trash);
  if (chosen != 1) {
    fmt::print(stderr, "corral rm: {}; try: corral rm RUN..., or corral rm --experiment NAME\n",
               chosen == 0 ? "missing run or --experiment"
                           : "give runs, --experiment or --trash, not several");
    return kMisuse;
  }
  return finish("rm", flags.now || flags.trash ? remove_for_good(flags) : trash(flags));
}

}  // namespace corral::cli
