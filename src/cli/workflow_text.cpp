#include "cli/workflow_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr std::size_t kMostSteps = 20;  // that are shown
constexpr std::size_t kMostRuns = 5;    // named in a line

std::string link_text(const std::string& link) {
  return link == "after"    ? "its After"
         : link == "repeat" ? "its last attempt"
         : link == "turn"   ? "the run before"
                            : "–";
}

std::vector<std::string> step_row(const Json& step) {
  return {printable(step.get_string("name")), link_text(step.get_string("link")),
          precise_duration_text(member(step, "wait_s")),
          precise_duration_text(member(step, "seconds")), printable(step.get_string("outcome"))};
}

std::string stages_text(const Json& found) {
  std::vector<std::string> texts;
  for (const Json& stage : items(found, "stages"))
    texts.push_back(fmt::format("{:.1f} % {}", 100 * member(stage, "share").as_double(0),
                                stage.get_string("stage")));
  return texts.empty() ? "" : "stages of the path: " + join(texts, ", ");
}

std::string queue_text(const Json& queue) {
  const Json::Array& longest = items(queue, "longest");
  if (longest.empty()) return "";
  return fmt::format("queue: {} on average from ready to start; longest: {} ({})",
                     precise_duration_text(member(queue, "mean_s")),
                     precise_duration_text(member(longest.front(), "wait_s")),
                     printable(longest.front().get_string("name")));
}

// "12 names": the first of `all` by `text`, and how many more there are.
template <class Text>
std::string named_runs(const Json::Array& runs, std::int64_t all, Text text) {
  std::vector<std::string> names;
  for (const Json& run : runs) {
    if (names.size() == kMostRuns) break;
    names.push_back(text(run));
  }
  const std::int64_t rest = all - std::ssize(names);
  const std::string more = rest > 0 ? fmt::format(", and {} more", rest) : "";
  return join(names, ", ") + more;
}

void add_unfinished(const Json& found, std::vector<std::string>& lines) {
  const Json::Array& runs = items(found, "not_finished");
  if (runs.empty()) return;
  const Json& counts = member(found, "runs");
  lines.push_back(fmt::format(
      "{} failed, {} interrupted ({} of their time), {} repeated: {}", counts.get_int("failed"),
      counts.get_int("interrupted"), precise_duration_text(member(found, "lost_s")),
      counts.get_int("repeated"),
      named_runs(runs,
                 std::max(counts.get_int("failed") + counts.get_int("interrupted"),
                          std::int64_t{std::ssize(runs)}),
                 [](const Json& run) {
                   return fmt::format("{} ({}{})", printable(run.get_string("name")),
                                      printable(run.get_string("outcome")),
                                      run.get_string("repeated_by").empty() ? "" : ", repeated");
                 })));
}

std::string joules_and_more(const Json& sum) {
  std::string text = member(sum, "joules").is_null()
                         ? "no energy was measured"
                         : with_unit(member(sum, "joules").as_double(0), "J");
  if (!member(sum, "co2e_g").is_null())
    text += fmt::format(", {:.4g} g CO2e", member(sum, "co2e_g").as_double(0));
  for (const Json& cost : items(sum, "costs"))
    text += fmt::format(", {:.4g} {}", member(cost, "total").as_double(0),
                        printable(cost.get_string("currency")));
  return text;
}

// "4 of 12 runs have no CO2e", if some do.
void add_lacking(const Json& sum, const char* with, std::string_view what,
                 std::vector<std::string>& lines) {
  const std::int64_t all = sum.get_int("runs"), some = sum.get_int(with);
  if (some > 0 && some < all)
    lines.push_back(fmt::format("{} of {} runs have no {}", all - some, all, what));
}

std::vector<std::string> footprint_lines(const Json& sum) {
  const std::int64_t all = sum.get_int("runs"), measured = sum.get_int("measured");
  if (all == 0) return {};
  std::vector<std::string> lines;
  std::string text = joules_and_more(sum);
  if (measured > 0)
    text += fmt::format("; {} of {} runs, measured in {:.3g} % of their time{}", measured, all,
                        100 * member(sum, "coverage").as_double(0),
                        sum.get_bool("modelled") ? " (shared parts modelled)" : "");
  lines.push_back(std::move(text));
  const Json& failed = member(sum, "failed");
  if (const auto runs = failed.get_int("runs"); runs > 0)
    lines.push_back(fmt::format("{} of the runs failed or were interrupted, included: {}", runs,
                                joules_and_more(failed)));
  if (measured < all) {
    const Json::Array& without = items(sum, "not_measured");
    const std::string reason = without.empty() ? "" : without.front().get_string("reason");
    lines.push_back(
        fmt::format("{} of {} runs have no energy: {} (the first: {})", all - measured, all,
                    named_runs(without, all - measured,
                               [](const Json& run) { return printable(run.get_string("name")); }),
                    printable(reason)));
  }
  add_lacking(sum, "with_co2e", "CO2e", lines);
  add_lacking(sum, "with_cost", "price", lines);
  if (const Json::Array& once = items(sum, "counted_once"); !once.empty())
    lines.push_back("counted once for the runs that had it together: " + plain_words(once));
  if (const auto left = sum.get_int("left_out"); left > 0)
    lines.push_back(fmt::format("{} more runs are not counted", left));
  return lines;
}

}  // namespace

WorkflowText workflow_text(const Json& found) {
  WorkflowText text;
  text.summary = printable(found.get_string("summary"));
  text.head = {"CRITICAL PATH", "WAITED FOR", "WAIT", "DURATION", "OUTCOME"};
  const Json::Array& path = items(found, "path");
  // Runs that only took turns are in the order that everybody knows.
  const bool joined = std::ranges::any_of(path, [](const Json& step) {
    const std::string link = step.get_string("link");
    return link == "after" || link == "repeat";
  });
  for (std::size_t i = path.size() - std::min(path.size(), kMostSteps); joined && i < path.size();
       ++i)
    text.rows.push_back(step_row(path[i]));
  if (joined && path.size() > text.rows.size())
    text.lines.push_back(
        fmt::format("{} earlier runs of the path: --format json", path.size() - text.rows.size()));
  for (std::string line : {stages_text(found), queue_text(member(found, "queue"))})
    if (!line.empty()) text.lines.push_back(std::move(line));
  for (const Json& host : items(found, "hosts"))
    text.lines.push_back(fmt::format("{}: without a run for {} of {}",
                                     printable(host.get_string("host")),
                                     precise_duration_text(member(host, "idle_s")),
                                     precise_duration_text(member(host, "seconds"))));
  add_unfinished(found, text.lines);
  text.footprint = footprint_lines(member(found, "footprint"));
  return text;
}

}  // namespace corral::cli
