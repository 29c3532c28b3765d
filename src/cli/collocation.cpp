#include <fmt/core.h>

#include <cmath>

#include "cli/answers.h"
#include "cli/arguments.h"
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

std::string number_text(const Json& value) {
  return value.is_null() ? "–" : fmt::format("{:.3g}", value.as_double(0));
}

// "1.6 (1.5 to 1.7)"
std::string slowdown_text(const Json& one) {
  const Json& low = member(one, "low");
  std::string text = number_text(member(one, "slowdown"));
  if (!low.is_null())
    text += fmt::format(" ({} to {})", number_text(low), number_text(member(one, "high")));
  return text;
}

// "2A+B", with parts of the hardware "2A (1g.5gb)+B (3g.20gb)".
std::string jobs_text(const Json::Array& jobs, const Json::Array& places = {}) {
  const auto name_of = [&](std::size_t i) {
    std::string name = *jobs[i].as_string();
    if (i < places.size() && !places[i].as_string()->empty())
      name += " (" + printable(*places[i].as_string()) + ")";
    return name;
  };
  std::string text;
  for (std::size_t i = 0; i < jobs.size();) {
    const std::string job = name_of(i);
    std::size_t copies = 0;
    for (; i < jobs.size() && name_of(i) == job; ++i) ++copies;
    text += (text.empty() ? "" : "+") + (copies > 1 ? std::to_string(copies) : "") + job;
  }
  return text.empty() ? "–" : text;
}

std::string place_text(const Json& one) {
  const std::string place = one.get_string("place");
  return place.empty() ? "all" : printable(place);
}

void print_jobs(const TextPage& page, const Json& found) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& job : items(found, "jobs")) {
    const std::string what = brief(job.get_string("what"), 60);
    if (items(job, "alone").empty())
      rows.push_back({job.get_string("job"), what, "–", "–", "0", "–", "–", "–"});
    for (const Json& alone : items(job, "alone"))
      rows.push_back(
          {job.get_string("job"), what, printable(alone.get_string("host")), place_text(alone),
           std::to_string(alone.get_int("n")), precise_duration_text(member(alone, "step_s")),
           duration_text(member(alone, "duration_s")), number_text(member(alone, "against_all"))});
  }
  page.title("Alone");
  page.table({"JOB", "WHAT", "HOST", "PART", "RUNS", "STEP", "DURATION", "BY THAT ON ALL"}, rows);
  for (const Json& job : items(found, "jobs"))
    for (const Json& alone : items(job, "alone"))
      if (alone.get_bool("smallest_slice"))
        page.line(fmt::format("The smallest slice of {} on which {} was measured is {}.",
                              printable(alone.get_string("host")), job.get_string("job"),
                              place_text(alone)));
}

void print_configurations(const TextPage& page, const Json& found) {
  std::vector<std::vector<std::string>> gains, slowdowns;
  for (const Json& one : items(found, "configurations")) {
    const std::string sharing = printable(one.get_string("sharing"));
    const std::string jobs = jobs_text(items(one, "jobs"), items(one, "places"));
    gains.push_back({sharing, jobs,
                     fmt::format("{} of {}", one.get_int("measured"), one.get_int("cells")),
                     number_text(member(one, "throughput")), number_text(member(one, "turnaround")),
                     number_text(member(one, "fairness")), number_text(member(one, "speedup")),
                     number_text(member(one, "energy"))});
    for (const Json& slow : items(one, "slowdowns"))
      slowdowns.push_back(
          {sharing, slow.get_string("job"), printable(slow.get_string("host")), place_text(slow),
           jobs_text(items(slow, "beside")), slowdown_text(slow),
           fmt::format("{}, {}", slow.get_int("n_alone"), slow.get_int("n_together"))});
  }
  if (gains.empty()) {
    page.line("No runs of it were beside each other in a workload.");
    return;
  }
  page.title("Together, against alone");
  page.table(
      {"SHARING", "JOBS", "MEASURED", "THROUGHPUT", "TURNAROUND", "FAIRNESS", "SPEED-UP", "ENERGY"},
      gains);
  page.title("Who is slowed down by whom");
  page.table({"SHARING", "JOB", "HOST", "PART", "BESIDE", "SLOWDOWN (95 %)", "RUNS"}, slowdowns);
}

// Slices: what a part of the hardware costs, and what the others cost beside it.
void print_parts_of_hardware(const TextPage& page, const Json& found) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& cell : items(found, "cells"))
    for (const Json& run : items(cell, "runs"))
      if (!member(run, "capacity").is_null())
        rows.push_back({printable(run.get_string("name")), run.get_string("job"), place_text(run),
                        number_text(member(run, "slowdown")), number_text(member(run, "capacity")),
                        number_text(member(run, "interference"))});
  if (rows.empty()) return;
  page.title("Parts of the hardware");
  page.table({"RUN", "JOB", "PART", "SLOWDOWN", "CAPACITY LOSS", "INTERFERENCE"}, rows);
}

void print_unmeasured(const TextPage& page, const Json& found) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& cell : items(found, "cells")) {
    if (cell.get_string("reason").empty()) continue;
    std::string ends;
    for (const Json& run : items(cell, "runs"))
      ends += (ends.empty() ? "" : ", ") + run.get_string("job") + " " + run.get_string("outcome");
    rows.push_back({printable(cell.get_string("workload")), printable(cell.get_string("sharing")),
                    printable(ends), printable(cell.get_string("reason"))});
  }
  for (const Json& alone : items(found, "unmeasured")) {
    const Json& run = member(alone, "run");
    rows.push_back({printable(run.get_string("name")), "alone",
                    run.get_string("job") + " " + printable(run.get_string("outcome")),
                    printable(alone.get_string("reason"))});
  }
  if (!rows.empty()) {
    page.title("Not measured");
    page.table({"WORKLOAD", "SHARING", "RUNS", "REASON"}, rows);
  }
  std::size_t unsteady = 0, all = 0;
  for (const Json& cell : items(found, "cells"))
    for (const Json& run : items(cell, "runs")) {
      if (member(run, "step_s").is_null()) continue;
      ++all;
      unsteady += run.get_string("not_steady").empty() ? 0 : 1;
    }
  if (unsteady > 0)
    page.line(
        fmt::format("{} of {} runs beside others were not steady: all their common steps "
                    "count, the first ones too.",
                    unsteady, all));
  for (const Json& text : items(found, "missing"))
    page.line("Not known: " + printable(*text.as_string()) + ".");
}

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
    print_jobs(page, found);
    print_configurations(page, found);
    print_parts_of_hardware(page, found);
    print_unmeasured(page, found);
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
