// corral rename, tag, archive and restore: change recorded runs.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_changes.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kRenameExamples =
    "  corral rename @1 baseline            the newest run\n"
    "  corral rename calm-otter-07 resnet50-lr0.1\n";
constexpr const char* kTagExamples =
    "  corral tag @1 team=vision best=yes   sets two tags of the newest run\n"
    "  corral tag 3f2a calm-otter-07 team=  removes a tag of two runs\n";
constexpr const char* kArchiveExamples =
    "  corral archive calm-otter-07         leave it out of lists, and keep it\n"
    "  corral ls archive                    what is there\n"
    "  corral restore calm-otter-07         back into the lists\n";
constexpr const char* kRestoreExamples =
    "  corral restore calm-otter-07         out of the trash or the archive\n"
    "  corral restore --experiment digits   all of its runs that are in the trash\n"
    "  corral ls trash                      what is there\n";

// Prints one line per run: "calm-otter-07 (3f2a…): VERB", or that nothing changed.
void print_changes(const std::vector<ChangedRun>& runs, std::string_view verb) {
  for (const ChangedRun& run : runs) {
    fmt::print("{} ({}): {}\n", printable(run.name), run.id,
               run.changed ? verb : "nothing to change");
  }
}

Result<int> change_and_print(const DestinationFlags& destination,
                             const std::vector<std::string>& runs, const ChangeOrder& order,
                             std::string_view verb) {
  const sys::HttpTarget server = TRY(connect(destination));
  const auto found = TRY(find_runs(server, runs));
  print_changes(TRY(change_runs(server, found, order)), verb);
  return kDone;
}

int misuse(std::string_view command, std::string_view what) {
  fmt::print(stderr, "corral {}: {}\n", command, what);
  return kMisuse;
}

Result<int> restore(const DestinationFlags& destination, const std::vector<std::string>& runs,
                    const std::string& experiment) {
  const sys::HttpTarget server = TRY(connect(destination));
  std::vector<FoundRun> found;
  if (experiment.empty()) {
    for (const std::string& run : runs) found.push_back(TRY(find_hidden_run(server, run)));
  } else {
    found = TRY(list_runs(server, {.state = "trashed", .experiment = experiment}));
    if (found.empty()) {
      return fail(Code::kNotFound,
                  fmt::format("no runs of experiment '{}' are in the trash", experiment));
    }
  }
  print_changes(TRY(change_runs(server, found, {.state = "active"})), "restored");
  return kDone;
}

}  // namespace

int rename_command(std::span<char* const> args) {
  DestinationFlags destination;
  std::string run, name;
  Arguments arguments("rename", "Gives a run another name.", kRenameExamples);
  arguments.positional("run", run, kRunHelp, false);
  arguments.positional("name", name, "the new name", false);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (run.empty() || name.empty())
    return misuse("rename", "missing run or name; try: corral rename RUN NAME");
  return finish("rename", change_and_print(destination, {run}, {.name = name}, "renamed"));
}

int tag_command(std::span<char* const> args) {
  DestinationFlags destination;
  std::vector<std::string> words, runs;
  Arguments arguments("tag", "Sets and removes tags of runs.", kTagExamples);
  arguments.positionals("run", words, "runs, then KEY=VALUE to set a tag, or KEY= to remove it",
                        false);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  ChangeOrder order;
  for (std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0) return misuse("tag", fmt::format("'{}' has no key before '='", word));
    if (equals == std::string::npos) {
      runs.push_back(std::move(word));
    } else {
      order.tags.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  if (runs.empty()) return misuse("tag", "missing run; try: corral tag RUN KEY=VALUE");
  if (order.tags.empty()) {
    return misuse("tag", fmt::format("expected KEY=VALUE to set or KEY= to remove; try: "
                                     "corral tag {} team=vision",
                                     runs.front()));
  }
  return finish("tag", change_and_print(destination, runs, order, "tagged"));
}

int archive_command(std::span<char* const> args) {
  DestinationFlags destination;
  std::vector<std::string> runs;
  Arguments arguments("archive", "Leaves runs out of lists, and keeps them.", kArchiveExamples);
  arguments.positionals("run", runs, kRunHelp, false);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (runs.empty()) return misuse("archive", "missing run; try: corral archive RUN");
  return finish("archive", change_and_print(destination, runs, {.state = "archived"}, "archived"));
}

int restore_command(std::span<char* const> args) {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string experiment;
  Arguments arguments("restore", "Brings runs back from the trash or the archive.",
                      kRestoreExamples);
  arguments.positionals("run", runs, "a run's id, its beginning or its name", false);
  arguments.text("experiment", experiment, "the trashed runs of this experiment");
  add_destination(arguments, destination);
  arguments.as_flag_only("experiment");
  if (const auto status = arguments.parse(args)) return *status;
  if (runs.empty() == experiment.empty()) {
    return misuse("restore", runs.empty() ? "missing run or --experiment; try: corral restore RUN"
                                          : "give runs or --experiment, not both");
  }
  return finish("restore", restore(destination, runs, experiment));
}

}  // namespace corral::cli
