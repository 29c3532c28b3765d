#include "cli/collocation_text.h"

#include <fmt/core.h>

#include <vector>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

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
  std::size_t unsteady = 0, all = 0, rounds = 0;
  for (const Json& cell : items(found, "cells")) {
    rounds += static_cast<std::size_t>(cell.get_int("rounds_left_out"));
    for (const Json& run : items(cell, "runs")) {
      if (member(run, "step_s").is_null()) continue;
      ++all;
      unsteady += run.get_string("not_steady").empty() ? 0 : 1;
    }
  }
  if (unsteady > 0)
    page.line(
        fmt::format("{} of {} runs beside others were not steady: all their common steps "
                    "count, the first ones too.",
                    unsteady, all));
  if (rounds > 0)
    page.line(
        fmt::format("Of runs that started again, the round counts that was longest beside "
                    "the others; {} {} left out.",
                    rounds, rounds == 1 ? "is" : "are"));
  for (const Json& text : items(found, "missing"))
    page.line("Not known: " + printable(plain(text).text) + ".");
}

}  // namespace

std::string jobs_text(const Json::Array& jobs, const Json::Array& places) {
  const auto name_of = [&](std::size_t i) {
    std::string name = plain(jobs[i]).text;
    const std::string place = i < places.size() ? printable(plain(places[i]).text) : "";
    if (!place.empty()) name += " (" + place + ")";
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

void print_collocation(const TextPage& page, const Json& found) {
  print_jobs(page, found);
  print_configurations(page, found);
  print_parts_of_hardware(page, found);
  print_unmeasured(page, found);
}

}  // namespace corral::cli
