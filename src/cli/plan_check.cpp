#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/plan_known.h"
#include "cli/plan_verbs.h"
#include "cli/table.h"
#include "core/text.h"
#include "environment/environment.h"
#include "environment/tool.h"
#include "plan/plan_file.h"

namespace corral::cli {
namespace {

constexpr const char* kVerb = "plan check";
constexpr const char* kExamples =
    "  corral plan check plan.csv\n"
    "  corral plan check plan.csv --format json     for programs\n"
    "  corral plan check plan.csv --no-devices      a plan for another machine\n";

// Once for each environment, however many rows have it.
std::optional<plan::Lack> environment_lack(std::string_view text,
                                           const std::filesystem::path& directory) {
  const auto spec = environment::parse(text);
  if (!spec) return std::nullopt;
  const auto there = environment::check(*spec, {.directory = directory,
                                                .cache = environment::default_cache(),
                                                .progress = {},
                                                .cancelled = {}});
  if (there) return std::nullopt;
  return plan::Lack{.reason = environment::without_credentials(there.error().message),
                    .certain = there.error().code != Code::kUnavailable};
}

Table table_of(const std::vector<plan::Problem>& problems) {
  Table table({{"severity", "SEVERITY"},
               {"line", "LINE", true},
               {"column", "COLUMN", true},
               {"field", "FIELD"},
               {"value", "VALUE"},
               {"reason", "REASON"},
               {"advice", "ADVICE"}});
  for (const plan::Problem& problem : problems) {
    const bool error = problem.severity == plan::Severity::kError;
    table.add({plain(error ? "error" : "warning"), plain(problem.line), plain(problem.column),
               plain(problem.field), plain(problem.value), plain(problem.reason),
               plain(problem.advice)});
  }
  return table;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_lines(const plan::Plan& plan, const std::string& file) {
  for (const plan::Problem& problem : plan.problems)
    fmt::print("{}\n", printable(plan::to_message(problem, file)));
  const auto errors = static_cast<std::size_t>(
      std::ranges::count(plan.problems, plan::Severity::kError, &plan::Problem::severity));
  std::size_t runs = 0;
  const auto workloads = plan::workloads_of(plan.rows);
  for (const plan::Workload& workload : workloads) runs += workload.rows.size();
  fmt::print("{}: {} in {}; {}, {}\n", file, counted(runs, "run"),
             counted(workloads.size(), "workload"), counted(errors, "error"),
             counted(plan.problems.size() - errors, "warning"));
}

}  // namespace

int plan_check(std::span<char* const> args) {
  std::string file;
  std::string format = "table";
  bool no_devices = false;
  Arguments arguments(kVerb,
                      "Lists all problems of an experiment file with line, column, value and the "
                      "nearest valid spelling (docs/plans.md). Changes nothing. Exit status: 0 if "
                      "the file can be run, else 1.",
                      kExamples);
  arguments.positional("file", file, "experiment file, CSV or YAML", true);
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  arguments.flag("no-devices", no_devices,
                 "do not check against the GPUs and environments of this machine");
  if (const auto status = arguments.parse(args)) return *status;
  plan::Known known = known_here(!no_devices);
  known.runs_here = !no_devices;
  if (known.runs_here) known.environment_lack = environment_lack;
  const auto plan = plan::read_plan(file, known);
  if (!plan) return report(kVerb, plan.error());
  if (format == "table") {
    print_lines(*plan, file);
  } else {
    fmt::print("{}", table_of(plan->problems).print(format));
  }
  return plan->usable() ? kDone : kFailed;
}

}  // namespace corral::cli
