#include <fmt/core.h>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/collocation_text.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/run_group.h"
#include "cli/text_page.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kCollocationExamples =
    "  corral collocation study.csv                       a plan, by its file\n"
    "  corral collocation mixed                           an experiment\n"
    "  corral collocation mixed --job params.model        runs of one model are one job\n"
    "  corral collocation mixed --format csv > mixed.csv  a row per job and way of sharing\n";

struct CollocationFlags {
  DestinationFlags destination;
  std::string group, job, format = "table";
};

void print_collocation_csv(const Json& found) {
  Table table({{"sharing", "sharing"},
               {"jobs", "jobs"},
               {"job", "job"},
               {"what", "what"},
               {"part", "part"},
               {"host", "host"},
               {"beside", "beside"},
               {"slowdown", "slowdown"},
               {"low", "low"},
               {"high", "high"},
               {"n_alone", "n_alone"},
               {"n_together", "n_together"},
               {"throughput", "throughput"},
               {"turnaround", "turnaround"},
               {"fairness", "fairness"},
               {"speedup", "speedup"},
               {"energy", "energy"}});
  const auto what_of = [&](const std::string& letters) {
    for (const Json& job : items(found, "jobs"))
      if (job.get_string("job") == letters) return plain(member(job, "what"));
    return plain(Json());
  };
  const auto text = [](const std::string& value) { return plain(Json(value)); };
  for (const Json& one : items(found, "configurations"))
    for (const Json& slow : items(one, "slowdowns"))
      table.add(
          {plain(member(one, "sharing")), text(jobs_text(items(one, "jobs"), items(one, "places"))),
           plain(member(slow, "job")), what_of(slow.get_string("job")),
           text(slow.get_string("place")), plain(member(slow, "host")),
           text(jobs_text(items(slow, "beside"))), plain(member(slow, "slowdown")),
           plain(member(slow, "low")), plain(member(slow, "high")), plain(member(slow, "n_alone")),
           plain(member(slow, "n_together")), plain(member(one, "throughput")),
           plain(member(one, "turnaround")), plain(member(one, "fairness")),
           plain(member(one, "speedup")), plain(member(one, "energy"))});
  fmt::print("{}", table.print("csv"));
}

Result<int> collocation(const CollocationFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const RunGroup group = TRY(find_group(server, flags.group));
  std::string path = group.path + "/collocation";
  if (!flags.job.empty()) path += "?job=" + sys::url_encode(flags.job);
  const Json found = TRY(get_json(server, path));
  if (flags.format == "json") {
    fmt::print("{}\n", found.dump());
  } else if (flags.format == "csv") {
    print_collocation_csv(found);
  } else {
    const TextPage page(flags.format);
    page.heading(fmt::format("{}: {} runs", group.what, group.runs.size()));
    print_collocation(page, found);
  }
  return kDone;
}

}  // namespace

int collocation_command(std::span<char* const> args) {
  CollocationFlags flags;
  Arguments arguments("collocation",
                      "Shows how much slower the runs of a plan, experiment or workload were "
                      "beside others than alone, and what the hardware gained by it.",
                      kCollocationExamples);
  arguments.positional("group", flags.group, "a plan's file, a workload, an experiment, or an id",
                       true);
  arguments.text("job", flags.job,
                 "what tells jobs apart: params.KEY, name, ... (default: the command)");
  arguments.as_flag_only("job");
  arguments.choice("format", flags.format, {"table", "json", "csv", "markdown", "latex"},
                   "output format (default: table)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("collocation", collocation(flags));
}

}  // namespace corral::cli
