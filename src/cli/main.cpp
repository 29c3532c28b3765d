#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "cli/command.h"
#include "cli/version.h"
#include "core/text.h"
#include "sys/inherited.h"

namespace corral::cli {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*call)(std::span<char* const>);
};

constexpr std::array kSubcommands = {
    Subcommand{"run", "run a training script or any command and record it", run_command},
    Subcommand{"serve", "serve a store: the page and the API", serve_command},
    Subcommand{"ls", "list experiments, workloads, plans, runs, metrics or phases", ls_command},
    Subcommand{"show", "show one run: what, where, when, how it ended, its metrics", show_command},
    Subcommand{"export", "write the points of runs as CSV or JSON", export_command},
    Subcommand{"import", "take an MLflow or radT database into the store", import_command},
    Subcommand{"plan", "check, expand or generate an experiment file", plan_command},
    Subcommand{"diff", "say what differs between the set-ups of two runs", diff_command},
    Subcommand{"rerun", "restore a run's code into a new directory and run it again",
               rerun_command},
    Subcommand{"undo", "put back what a killed `corral run` left changed on this machine",
               undo_command},
    Subcommand{"profile", "profile the next steps of a run that is running", profile_command},
    Subcommand{"rm", "remove runs, or an experiment with all its runs", rm_command},
    Subcommand{"store",
               "look after a store: check, stats, backup, load, migrate, rebuild, gc, prune",
               store_command},
    Subcommand{"doctor", "say what this machine offers and lacks, and why", doctor_command},
    Subcommand{"trust", "let all of a corral.toml count that came with a directory", trust_command},
    Subcommand{"bench", "measure what recording costs a training on this machine", bench_command},
};

void print_help(std::FILE* out) {
  fmt::print(out,
             "Corral {} records training runs with hardware metrics and charts them "
             "live.\n\nUsage: corral COMMAND [OPTIONS]\n\n",
             kVersion);
  for (const Subcommand& s : kSubcommands) fmt::print(out, "  {:<8} {}\n", s.name, s.summary);
  fmt::print(out,
             "\nExamples:\n  corral run train.py --epochs 3     record a training, hardware and "
             "software metrics in one run\n"
             "  corral serve                       see it at http://127.0.0.1:5000\n  corral ls "
             "runs                     list what was run\n\n"
             "corral COMMAND --help says more. Exit status: 0 done, 1 failed, 2 misuse; of `run`: "
             "its command's.\n");
}

int unknown(std::string_view word) {
  const auto* near = std::ranges::min_element(
      kSubcommands, {}, [&](const Subcommand& s) { return edit_distance(s.name, word); });
  const bool close = edit_distance(near->name, word) <= 2;
  fmt::print(stderr, "corral: '{}' is not a command{} corral --help lists them\n", printable(word),
             close ? fmt::format(", did you mean '{}'?", near->name) : ";");
  return kMisuse;
}

int dispatch(std::span<char* const> args) {
  if (args.empty()) {
    print_help(stderr);
    return kMisuse;
  }
  const std::string_view word = args[0];
  if (word == "--help" || word == "-h" || word == "help") {
    print_help(stdout);
    return kDone;
  }
  if (word == "--version") {
    fmt::print("corral {}\n", kVersion);
    return kDone;
  }
  const auto* found = std::ranges::find(kSubcommands, word, &Subcommand::name);
  return found == kSubcommands.end() ? unknown(word) : found->call(args.subspan(1));
}

// Without memory for the options of a run: the launcher finds its command and executes it. Comes
// back when there is no launcher.
void leave_to_launcher(char** argv, const char* reason) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  constexpr std::string_view kEnd = "-program";
  const std::string_view program(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (!program.ends_with(kEnd) || ::setenv("CORRAL_NOT_RECORDED", reason, 1) != 0) return;
  path[program.size() - kEnd.size()] = '\0';
  sys::restore_signals();
  ::execv(path.data(), argv);
}

}  // namespace
}  // namespace corral::cli

int main(int argc, char** argv) {
  corral::sys::note_inherited();
  try {
    return corral::cli::dispatch(
        std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
  } catch (const std::exception& error) {
    if (argc > 1 && std::string_view(argv[1]) == "run")
      corral::cli::leave_to_launcher(argv, error.what());
    fmt::print(stderr, "corral: {}\n", corral::printable_lines(error.what()));
    return corral::cli::kFailed;
  }
}
