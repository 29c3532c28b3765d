#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kRmExamples =
    "  corral rm @1                         the newest run, after asking\n"
    "  corral rm 3f2a calm-otter-07 --yes   two runs, without asking\n"
    "  corral rm --experiment digits        an experiment with all its runs\n"
    "  corral rm @1 --dry-run               print what would be removed\n";

struct RmFlags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string experiment;
  bool yes = false;
  bool dry_run = false;
  bool force = false;
};

struct Target {
  std::string path;  // the route of the API
  std::string what;  // in words
};
struct Size {
  std::size_t runs = 0;
  std::int64_t points = 0, bytes = 0;
};

Result<std::vector<Target>> find_targets(const sys::HttpTarget& server, const RmFlags& flags) {
  std::vector<Target> targets;
  for (const std::string& run : flags.runs) {
    const Json known = TRY(get_json(server, run_path(run)));
    const std::string id = known.get_string("id");
    const auto same = [&](const Target& target) { return target.path.ends_with("/" + id); };
    if (std::ranges::any_of(targets, same)) continue;  // named twice
    targets.push_back({.path = run_path(id),
                       .what = fmt::format("run {} ({}), {}", printable(known.get_string("name")),
                                           id, ending_text(known))});
  }
  if (flags.experiment.empty()) return targets;
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  for (const Json& one : items(answer, "experiments")) {
    if (one.get_string("name") != flags.experiment) continue;
    targets.push_back({.path = "/api/corral/v1/experiments/" + one.get_string("id"),
                       .what = "experiment " + printable(flags.experiment) + " with all its runs"});
  }
  if (targets.empty()) {
    return fail(Code::kNotFound, fmt::format("no experiment '{}': corral ls experiments lists them",
                                             flags.experiment));
  }
  return targets;
}

// Returns the size that the server removed or, in a dry run, would remove.
Result<Size> remove_target(const sys::HttpTarget& server, const Target& target, bool force,
                           bool dry_run) {
  auto answered =
      send_json(server, {.method = "DELETE",
                         .path = fmt::format("{}?force={}&dry_run={}", target.path, force, dry_run),
                         .body = {},
                         .timeout = std::chrono::minutes(10)});
  if (!answered && answered.error().code == Code::kConflict)
    answered.error().message += " (--force)";
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

Result<int> rm(const RmFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const std::vector<Target> targets = TRY(find_targets(server, flags));
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
  Arguments arguments("rm", "Removes runs, or an experiment with all its runs, permanently.",
                      kRmExamples);
  arguments.positionals("run", flags.runs, kRunHelp, false);
  arguments.text("experiment", flags.experiment, "remove this experiment");
  arguments.flag("yes", flags.yes, "do not ask for confirmation");
  arguments.flag("dry-run", flags.dry_run, "print what would be removed, and exit");
  arguments.flag("force", flags.force, "remove running runs too; later data of them is ignored");
  add_destination(arguments, flags.destination);
  // The environment and the configuration file name an experiment to record in, not to remove.
  arguments.as_flag_only("experiment");
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.runs.empty() == flags.experiment.empty()) {
    fmt::print(
        stderr, "corral rm: {}; try: corral rm RUN..., or corral rm --experiment NAME\n",
        flags.runs.empty() ? "missing run or --experiment" : "give runs or --experiment, not both");
    return kMisuse;
  }
  return finish("rm", rm(flags));
}

}  // namespace corral::cli
