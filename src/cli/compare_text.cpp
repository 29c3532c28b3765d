#include "cli/compare_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/table.h"
#include "core/text.h"
#include "core/time.h"

namespace corral::cli {
namespace {

void print_groups(const TextPage& page, const Json& found) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& group : items(found, "groups")) {
    const std::string unit = group.get_string("unit");
    const auto text = [&](const char* name) { return value_in_unit(member(group, name), unit); };
    const std::int64_t missed = group.get_int("missed");
    rows.push_back({printable(group.get_string("name")), unit.empty() ? "–" : unit,
                    fmt::format("{} of {}{}", group.get_int("n"), items(group, "units").size(),
                                missed > 0 ? fmt::format(", {} missed", missed) : ""),
                    text("mean"), text("min"), text("max")});
  }
  page.table({"GROUP", "UNIT", "COUNTED", "GEOMETRIC MEAN", "LEAST", "GREATEST"}, rows);
  for (const Json& group : items(found, "groups"))
    for (const Json& warning : items(group, "warnings"))
      page.line(fmt::format("{}: {}", printable(group.get_string("name")),
                            printable(plain(warning).text)));
}

void print_difference(const TextPage& page, const Json& one, const std::string& value) {
  constexpr std::size_t kMost = 8;
  constexpr double kSmall = 0.01;      // share of the greatest difference
  constexpr std::size_t kWidest = 24;  // bytes of a title
  const std::string a = one.get_string("a"), b = one.get_string("b");
  std::string title_a = brief(a, kWidest), title_b = brief(b, kWidest);
  if (title_a == title_b) {
    title_a = "A";
    title_b = "B";
  }
  page.title(fmt::format("{} against {}", printable(b), printable(a)));
  page.line(printable(one.get_string("text")));
  for (const Json& warning : items(one, "warnings")) page.line(printable(plain(warning).text));
  std::vector<std::vector<std::string>> rows;
  double greatest = 0;
  for (const Json& part : items(one, "parts")) {
    if (rows.size() == kMost) break;
    const Json &of_a = member(part, "a_s"), &of_b = member(part, "b_s");
    const double more = of_b.as_double(0) - of_a.as_double(0);
    greatest = std::max(greatest, std::abs(more));
    if (std::abs(more) < kSmall * greatest) continue;
    rows.push_back({printable(part.get_string("name")) + (part.get_bool("apart") ? " (apart)" : ""),
                    value, precise_duration_text(of_a), precise_duration_text(of_b),
                    (more < 0 ? "-" : "+") + precise_duration(std::abs(more))});
  }
  for (const Json& metric : items(one, "metrics")) {
    const std::string unit = metric.get_string("unit"), source = metric.get_string("source");
    const double of_a = member(metric, "a").as_double(0), of_b = member(metric, "b").as_double(0);
    rows.push_back(
        {printable(metric.get_string("metric")), source.empty() ? "–" : printable(source),
         with_unit(of_a, unit), with_unit(of_b, unit),
         of_a != 0 ? fmt::format("{:+.3g} %", (of_b - of_a) / std::abs(of_a) * 100) : "–"});
  }
  if (!rows.empty()) page.table({"WHAT DIFFERS", "OF", title_a, title_b, "DIFFERENCE"}, rows);
  rows.clear();
  for (const Json& set_up : items(one, "set_up")) {
    if (rows.size() == kMost) break;
    rows.push_back({printable(set_up.get_string("part")), brief(set_up.get_string("key")),
                    brief(set_up.get_string("a")), brief(set_up.get_string("b"))});
  }
  if (!rows.empty())
    page.table({"SET-UP", "WHAT", title_a, title_b}, rows);
  else if (one.get_int("set_up_left_out") == 0)
    page.line("Nothing that was recorded of the set-ups tells the two apart.");
  const std::size_t all =
      items(one, "set_up").size() + static_cast<std::size_t>(one.get_int("set_up_left_out"));
  if (all > rows.size())
    page.line(fmt::format("{} more differences of the set-up: --format json", all - rows.size()));
}

}  // namespace

bool compares_nothing(const Json& found) {
  const auto counts = [](const Json& group) {
    return group.get_int("n") + group.get_int("missed");
  };
  const Json::Array& groups = items(found, "groups");
  if (groups.size() < 2) return false;
  return counts(groups.front()) == 0 ||
         std::ranges::all_of(groups.begin() + 1, groups.end(),
                             [&](const Json& group) { return counts(group) == 0; });
}

void print_comparison(const TextPage& page, const Json& found) {
  const std::int64_t family = found.get_int("family");
  std::string heading = printable(found.get_string("value"));
  if (const Json& margin = member(found, "margin"); !margin.is_null())
    heading +=
        fmt::format(", within a margin of {:.3g} % ({})", margin.as_double(0) * 100,
                    found.get_bool("margin_planned") ? "given when the runs started" : "post hoc");
  if (family > 1) heading += fmt::format("; corrected for {} comparisons", family);
  page.heading(heading);
  print_groups(page, found);
  for (const Json& one : items(found, "differences"))
    print_difference(page, one, printable(found.get_string("value")));
}

std::string comparison_csv(const Json& found) {
  Table table({{"a", "a"},
               {"b", "b"},
               {"value", "value"},
               {"n_a", "n_a"},
               {"n_b", "n_b"},
               {"pairs", "pairs"},
               {"mean_a", "mean_a"},
               {"mean_b", "mean_b"},
               {"unit", "unit"},
               {"ratio", "ratio"},
               {"low", "low"},
               {"high", "high"},
               {"verdict", "verdict"},
               {"p_different", "p_different"},
               {"p_equivalent", "p_equivalent"},
               {"margin", "margin"},
               {"confidence", "confidence"}});
  const Json& a = items(found, "groups").front();
  for (std::size_t i = 0; i < items(found, "differences").size(); ++i) {
    const Json& one = items(found, "differences")[i];
    const Json& b = items(found, "groups")[i + 1];
    table.add({plain(member(one, "a")), plain(member(one, "b")), plain(member(found, "value")),
               plain(member(a, "n")), plain(member(b, "n")), plain(member(one, "pairs")),
               plain(member(a, "mean")), plain(member(b, "mean")), plain(member(a, "unit")),
               plain(member(one, "ratio")), plain(member(one, "low")), plain(member(one, "high")),
               plain(member(one, "verdict")), plain(member(one, "p_different")),
               plain(member(one, "p_equivalent")), plain(member(found, "margin")),
               plain(member(found, "confidence"))});
  }
  return table.print("csv");
}

}  // namespace corral::cli
