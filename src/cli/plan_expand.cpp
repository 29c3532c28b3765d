#include <fmt/core.h>

#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/plan_known.h"
#include "cli/plan_verbs.h"
#include "cli/table.h"
#include "core/text.h"
#include "plan/plan_file.h"

namespace corral::cli {
namespace {

constexpr const char* kVerb = "plan expand";
constexpr const char* kExamples =
    "  corral plan expand plan.csv\n"
    "  corral plan expand sweep.yaml --format csv\n";

std::string joined(const plan::Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  return text;
}

Table table_of(const std::vector<plan::Workload>& workloads) {
  Table table({{"line", "LINE", true},
               {"experiment", "EXPERIMENT"},
               {"workload", "WORKLOAD"},
               {"letter", "LETTER"},
               {"name", "NAME"},
               {"devices", "DEVICES"},
               {"collocation", "COLLOCATION"},
               {"environment", "ENVIRONMENT"},
               {"status", "STATUS"},
               {"command", "COMMAND"},
               {"tags", "TAGS"},
               {"after", "AFTER"},
               {"key", ""}});
  for (const plan::Workload& workload : workloads) {
    for (const plan::Row& row : workload.rows) {
      table.add({plain(row.line),
                 plain(row.experiment),
                 plain(workload.recorded_name()),
                 plain(row.letter),
                 plain(row.name),
                 plain(join(row.share.devices, "+")),
                 plain(row.collocation),
                 plain(row.environment),
                 plain(row.status),
                 plain(join(row.command, " ")),
                 plain(joined(row.tags)),
                 plain(join(workload.after, "+")),
                 {Json(row.key), ""}});
    }
  }
  return table;
}

}  // namespace

int plan_expand(std::span<char* const> args) {
  std::string file;
  std::string format = "table";
  Arguments arguments(kVerb,
                      "Lists the runs of an experiment file in start order, with sweeps and "
                      "repetitions expanded. Starts nothing. Problems go to standard error.",
                      kExamples);
  arguments.positional("file", file, "experiment file, CSV or YAML", true);
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  if (const auto status = arguments.parse(args)) return *status;
  const auto plan = plan::read_plan(file, known_here());
  if (!plan) return report(kVerb, plan.error());
  for (const plan::Problem& problem : plan->problems) {
    if (problem.severity == plan::Severity::kError)
      fmt::print(stderr, "{}\n", printable(plan::to_line(problem, file)));
  }
  fmt::print("{}", table_of(plan::workloads_of(plan->rows)).print(format));
  return plan->usable() ? kDone : kFailed;
}

}  // namespace corral::cli
