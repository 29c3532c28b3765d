#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "cli/command.h"
#include "cli/thumbnail.h"
#include "cli/version.h"
#include "core/text.h"
#include "sys/inherited.h"

namespace corral::cli {
namespace {

constexpr std::array kCommands = {
    Verb{"run", "record a training script, any command or an experiment file", run_command},
    Verb{"serve", "serve the page and the API of a store", serve_command},
    Verb{"demo", "train two small networks side by side, and show them", demo_command},
    Verb{"ls", "list experiments, workloads, plans, runs, metrics or phases", ls_command},
    Verb{"show", "show one run: command, host, times, outcome, metrics", show_command},
    Verb{"logs", "print the output of a run", logs_command},
    Verb{"open", "open the page of a run in the browser", open_command},
    Verb{"watch", "show a run, a workload or a plan live in this terminal", watch_command},
    Verb{"explain", "explain where the time of a run went", explain_command},
    Verb{"collocation", "runs beside others against the same alone", collocation_command},
    Verb{"compare", "compare groups of runs, with intervals and verdicts", compare_command},
    Verb{"history", "show where a value changed from run to run", history_command},
    Verb{"report", "write a document about compared runs or a plan", report_command},
    Verb{"plot", "draw metrics of runs as SVG, PDF or PNG", plot_command},
    Verb{"export", "write the points of runs as CSV, JSON, Parquet or a trace", export_command},
    Verb{"import", "import runs of other tools, or the trace of a profiler", import_command},
    Verb{"plan", "check, expand or generate an experiment file", plan_command},
    Verb{"diff", "show how the set-ups of two runs differ", diff_command},
    Verb{"rerun", "restore a run's code in a new directory and run it again", rerun_command},
    Verb{"undo", "revert what a killed `corral run` left changed on this machine", undo_command},
    Verb{"profile", "profile the next steps of a running run", profile_command},
    Verb{"rename", "give a run another name", rename_command},
    Verb{"tag", "set and remove tags of runs", tag_command},
    Verb{"archive", "leave runs out of lists, and keep them", archive_command},
    Verb{"rm", "move runs to the trash, or remove them for good", rm_command},
    Verb{"restore", "bring runs back from the trash or the archive", restore_command},
    Verb{"store", "maintain a store: check, stats, backup, load, migrate, rebuild, gc, prune",
         store_command},
    Verb{"alert", "be told about runs that fail, stall or give NaN", alert_command},
    Verb{"user", "manage the users of a store", user_command},
    Verb{"team", "manage teams, which are let into spaces together", team_command},
    Verb{"space", "manage spaces, which only their members see", space_command},
    Verb{"token", "make, list and revoke access tokens of users", token_command},
    Verb{"login", "keep your token of a server", login_command},
    Verb{"logout", "delete the kept token of a server", logout_command},
    Verb{"whoami", "show whose token a server was given", whoami_command},
    Verb{"audit", "show who did what", audit_command},
    Verb{"doctor", "report what this machine can measure, and why not", doctor_command},
    Verb{"spool", "send data that waits on this host", spool_command},
    Verb{"trust", "trust a corral.toml that came with a directory", trust_command},
    Verb{"bench", "measure the overhead of recording on this machine", bench_command},
    Verb{"help", "show a document of this version, or search them", help_command},
    Verb{"thumbnail", "", thumbnail_command},
};

// Words of other tools.
constexpr std::array kElsewhere = {
    Elsewhere{"ui", "serve"},          Elsewhere{"up", "serve"},
    Elsewhere{"start", "serve"},       Elsewhere{"dashboard", "serve"},
    Elsewhere{"stop", "serve --stop"}, Elsewhere{"runs", "ls runs"},
    Elsewhere{"search", "ls runs"},    Elsewhere{"experiments", "ls experiments"},
    Elsewhere{"delete", "rm"},         Elsewhere{"gc", "store gc"},
    Elsewhere{"sync", "import"},       Elsewhere{"monitor", "watch"},
    Elsewhere{"version", "--version"},
};

constexpr std::string_view kFoot =
    "\nExamples:\n"
    "  corral run train.py --epochs 3     record a training with hardware metrics\n"
    "  corral serve                       show it at http://127.0.0.1:5000\n"
    "  corral ls runs                     list recorded runs\n"
    "\ncorral COMMAND --help shows the options, corral help TOPIC a document.\n"
    "Exit status: 0 success, 1 failure, 2 invalid usage; `run`: that of its command.\n";

int dispatch(std::span<char* const> args) {
  if (args.empty()) {
    fmt::print("Corral {}\n\n", kVersion);
    return overview_command();
  }
  if (std::string_view(args[0]) == "--version") {
    fmt::print("corral {}\n", kVersion);
    return kDone;
  }
  const std::string head = fmt::format(
      "Corral {} records training runs with hardware metrics and charts them live.\n\n"
      "Usage: corral COMMAND [OPTIONS]\n\n",
      kVersion);
  const bool lists = args.size() == 1 && std::string_view(args[0]) == "help";
  const std::string foot = std::string(kFoot) + (lists ? "\n" + document_names() + "\n" : "");
  return call_verb(
      {.name = "corral", .head = head, .foot = foot, .verbs = kCommands, .elsewhere = kElsewhere},
      args);
}

// Without memory for the options of a run: the launcher, beside this program or in ../../bin, finds
// its command and executes it. Comes back when there is no launcher. Allocates nothing.
void leave_to_launcher(char** argv, const char* reason) {
  constexpr std::string_view kEnd = "-program";
  constexpr std::string_view kInstalled = "/../../bin/corral";
  std::array<char, 4096> path{};
  const ssize_t length =
      ::readlink("/proc/self/exe", path.data(), path.size() - kInstalled.size() - 1);
  const std::string_view program(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (!program.ends_with(kEnd) || ::setenv("CORRAL_NOT_RECORDED", reason, 1) != 0) return;
  const std::size_t folder = program.rfind('/');
  path[program.size() - kEnd.size()] = '\0';
  sys::restore_signals();
  ::execv(path.data(), argv);
  *std::copy(kInstalled.begin(), kInstalled.end(), path.begin() + folder) = '\0';
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
