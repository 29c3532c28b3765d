// corral plan: check, expand and generate experiment files.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output_target.h"
#include "cli/run_plan.h"
#include "cli/table.h"
#include "core/ids.h"
#include "core/text.h"
#include "environment/environment.h"
#include "environment/tool.h"
#include "plan/generate.h"
#include "plan/plan_file.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr const char* kCheck = "plan check";
constexpr const char* kCheckExamples =
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

Table problems_table(const std::vector<plan::Problem>& problems) {
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

int plan_check(std::span<char* const> args) {
  std::string file;
  std::string format = "table";
  bool no_devices = false;
  Arguments arguments(kCheck,
                      "Lists all problems of an experiment file with line, column, value and the "
                      "nearest valid spelling (docs/plans.md). Changes nothing. Exit status: 0 if "
                      "the file can be run, else 1.",
                      kCheckExamples);
  arguments.positional("file", file, "experiment file, CSV or YAML", true);
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  arguments.flag("no-devices", no_devices,
                 "do not check against the GPUs and environments of this machine");
  if (const auto status = arguments.parse(args)) return *status;
  plan::Known known = known_here(!no_devices);
  known.runs_here = !no_devices;
  if (known.runs_here) known.environment_lack = environment_lack;
  const auto plan = plan::read_plan(file, known);
  if (!plan) return report(kCheck, plan.error());
  if (format == "table") {
    print_lines(*plan, file);
  } else {
    fmt::print("{}", problems_table(plan->problems).print(format));
  }
  return plan->usable() ? kDone : kFailed;
}

constexpr const char* kExpand = "plan expand";
constexpr const char* kExpandExamples =
    "  corral plan expand plan.csv\n"
    "  corral plan expand sweep.yaml --format csv\n";

std::string joined(const plan::Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  return text;
}

Table runs_table(const std::vector<plan::Workload>& workloads) {
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

int plan_expand(std::span<char* const> args) {
  std::string file;
  std::string format = "table";
  Arguments arguments(kExpand,
                      "Lists the runs of an experiment file in start order, with sweeps and "
                      "repetitions expanded. Starts nothing. Problems go to standard error.",
                      kExpandExamples);
  arguments.positional("file", file, "experiment file, CSV or YAML", true);
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  if (const auto status = arguments.parse(args)) return *status;
  const auto plan = plan::read_plan(file, known_here());
  if (!plan) return report(kExpand, plan.error());
  for (const plan::Problem& problem : plan->problems) {
    if (problem.severity == plan::Severity::kError)
      fmt::print(stderr, "{}\n", printable(plan::to_line(problem, file)));
  }
  fmt::print("{}", runs_table(plan::workloads_of(plan->rows)).print(format));
  return plan->usable() ? kDone : kFailed;
}

constexpr const char* kGenerate = "plan generate";
constexpr const char* kGenerateExamples =
    "  corral plan generate study.yaml                     the plan, on standard output\n"
    "  corral plan generate study.yaml --output plan.csv   into a file that is not there yet\n"
    "  corral plan generate study.yaml --seed 7            every block in a random order\n";
constexpr std::size_t kMostBytes = 1u << 20;

struct GenerateFlags {
  std::string spec, output, seed;
};

std::optional<int> parse_generate(std::span<char* const> args, GenerateFlags& flags) {
  Arguments arguments(kGenerate,
                      "Generates an experiment file from a matrix of models, batch sizes, ways of "
                      "sharing and repeats (docs/plan-generate.md).",
                      kGenerateExamples);
  arguments.positional("spec", flags.spec, "specification, a YAML file", true);
  arguments.text("output", flags.output, "new file, also -o (default: standard output)", 'o');
  arguments.text("seed", flags.seed, "shuffle each block by this seed; overrides the file's seed");
  arguments.as_flag_only("output");
  arguments.as_flag_only("seed");
  return arguments.parse(args);
}

Result<> write(const GenerateFlags& flags, const plan::Generated& made) {
  OutputTarget target = TRY(OutputTarget::open(flags.output));
  TRY(target.write(made.csv));
  return target.finish();
}

int misuse(const std::string& message) {
  return report(kGenerate, Error{.code = Code::kInvalidArgument, .message = message});
}

int plan_generate(std::span<char* const> args) {
  GenerateFlags flags;
  if (const auto status = parse_generate(args, flags)) return *status;
  plan::GenerateOptions options{
      .name = std::filesystem::path(flags.spec).filename().string(), .seed = {}, .drawn = 0};
  if (!flags.seed.empty()) {
    const auto seed = parse_int(flags.seed);
    if (!seed || *seed < 0) return misuse("--seed " + flags.seed + ": must be a number from 0");
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  const auto bytes = detail::random_id_bytes();
  options.drawn = (std::uint64_t{bytes[0]} << 16U) | (std::uint64_t{bytes[1]} << 8U) | bytes[2];
  // An existing file may hold the state of a plan.
  std::error_code error;
  if (!flags.output.empty() && std::filesystem::is_regular_file(flags.output, error))
    return report(kGenerate, Error{.code = Code::kAlreadyExists,
                                   .message = flags.output + " is there already; remove it first"});
  const auto text = sys::read_file(flags.spec, kMostBytes);
  if (!text) return report(kGenerate, text.error());
  const plan::Generated made = plan::generate(*text, options);
  for (const plan::Problem& problem : made.problems)
    fmt::print(stderr, "{}\n", printable(plan::to_message(problem, flags.spec)));
  if (!made.problems.empty()) return kFailed;
  if (const auto written = write(flags, made); !written) return report(kGenerate, written.error());
  fmt::print(stderr, "{} runs in {} workloads{}\n", made.runs, made.workloads,
             made.seed ? fmt::format(", seed {}", *made.seed) : "");
  return kDone;
}

constexpr std::array kPlanVerbs = {
    Verb{"check", "list all problems of an experiment file", plan_check},
    Verb{"expand", "list the runs of an experiment file in start order", plan_expand},
    Verb{"generate", "generate an experiment file from a matrix", plan_generate},
};

constexpr std::string_view kPlanHead =
    "Works on experiment files (docs/plans.md); corral run FILE runs one.\n\n"
    "Usage: corral plan VERB [OPTIONS]\n\n";
constexpr std::string_view kPlanFoot =
    "\nExamples:\n"
    "  corral plan check plan.csv\n"
    "  corral plan expand plan.csv\n"
    "  corral plan generate study.yaml --output plan.csv\n"
    "\ncorral plan VERB --help shows the options.\n";

}  // namespace

int plan_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral plan", .head = kPlanHead, .foot = kPlanFoot, .verbs = kPlanVerbs}, args);
}

}  // namespace corral::cli
