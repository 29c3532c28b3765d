// corral report: a document about compared groups or a plan, which says how it was made.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/collocation_text.h"
#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/destination.h"
#include "cli/group_flags.h"
#include "cli/output_target.h"
#include "cli/page_code.h"
#include "cli/report_figures.h"
#include "cli/run_group.h"
#include "cli/table.h"
#include "cli/text_page.h"
#include "cli/version.h"
#include "cli/workflow_text.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "run/schedule/scheduler.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportExamples =
    "  corral report study.csv -o study.html             a plan: its workloads compared\n"
    "  corral report before after -o change.md           two groups, as of corral compare\n"
    "  corral report \"params.lr = '0.1'\" --by params.batch -o batch.tex\n"
    "  corral report --check study.html                  exit with 1 if the data have changed\n";

constexpr std::string_view kMark = "corral-report ";

struct ReportFlags {
  DestinationFlags destination;
  GroupFlags of;
  std::string target, job, title, output;
  bool check = false;
};

// ---- what it is made of

struct ReportData {
  std::string what;                        // "plan study.csv", "before and after"
  Json comparison, collocation, workflow;  // null: there is none
  // Rows of a plan, and those of them without a recorded run.
  std::optional<std::size_t> planned = {}, without_run = {};
  std::string digest = {};
  std::string plan = {};  // its id
};

bool is_plan(const RunGroup& group) { return group.kind == "plans"; }

// A workload that runs for the second time is called "7#2".
std::string without_repetition(const std::string& workload) {
  const std::size_t sign = workload.rfind('#');
  const bool numbered =
      sign != std::string::npos && parse_int(std::string_view(workload).substr(sign + 1));
  return numbered ? workload.substr(0, sign) : workload;
}

// Runs by the workload of the plan or experiment that they belong to, in the order of their starts.
class Cells {
 public:
  void add(const std::string& name, const std::string& run, bool is_baseline) {
    const auto [at, fresh] = places_.try_emplace(name, groups_.size());
    if (fresh) groups_.push_back({name, {}});
    groups_[at->second].second.emplace_back(run);
    if (is_baseline && !baseline_) baseline_ = at->second;
  }
  // The marked baseline comes first.
  [[nodiscard]] Json groups() const {
    Json::Array all;
    for (const auto& [name, runs] : groups_)
      all.emplace_back(Json::Object{{"name", name}, {"runs", Json(runs)}});
    if (baseline_) {
      const auto marked = all.begin() + static_cast<std::ptrdiff_t>(*baseline_);
      std::rotate(all.begin(), marked, marked + 1);
    }
    return Json(std::move(all));
  }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }

 private:
  std::vector<std::pair<std::string, Json::Array>> groups_;
  std::map<std::string, std::size_t> places_;
  std::optional<std::size_t> baseline_;
};

constexpr const char* kBaseline = "tags.corral.baseline";
constexpr std::size_t kMostGroups = 100;  // that POST /compare takes

// The recorded runs of a plan or experiment by their workloads, or names where they have none:
// repetitions and further attempts together, in the order of their starts.
Result<std::vector<Json>> runs_of(const sys::HttpTarget& server, const RunGroup& group) {
  constexpr std::int64_t kPage = 1000;
  Json question{Json::Object{{"limit", kPage}}};
  const Json ids(Json::Array{Json(group.id)});
  if (is_plan(group))
    question.set("where", Json(Json::Object{{"tags.corral.plan", ids}}));
  else
    question.set(group.kind, ids);
  question.set("order", Json(Json::Array{Json(Json::Object{{"by", "start"}})}));
  question.set("columns", Json(Json::Array{Json(kBaseline)}));
  std::vector<Json> runs;
  for (bool more = true; more;) {
    question.set("offset", static_cast<std::int64_t>(runs.size()));
    const std::string body = question.dump();
    const Json page = TRY(
        send_json(server, {.method = "POST", .path = "/api/corral/v1/runs/search", .body = body}));
    const Json::Array& found = items(page, "runs");
    runs.insert(runs.end(), found.begin(), found.end());
    more = !found.empty() && std::ssize(runs) < page.get_int("total");
  }
  return runs;
}

Cells cells_of(const std::vector<Json>& runs) {
  std::set<std::string> experiments;
  for (const Json& run : runs) experiments.insert(run.get_string("experiment"));
  Cells cells;
  for (const Json& run : runs) {
    const std::string experiment =
        experiments.size() > 1 ? run.get_string("experiment") + "/" : std::string();
    const std::string workload = run.get_string("workload");
    cells.add(
        experiment + (workload.empty() ? run.get_string("name") : without_repetition(workload)),
        run.get_string("id"), !member(run, "values").get_string(kBaseline).empty());
  }
  return cells;
}

// The workloads of the plan or experiment that the only group names.
Result<> read_plan(const sys::HttpTarget& server, const ReportFlags& flags, Json& question,
                   ReportData& data) {
  const std::string& name = flags.of.groups.front();
  const auto group = find_group(server, name);
  if (!group && group.error().code != Code::kNotFound) return tl::unexpected(group.error());
  const std::vector<Json> runs = group ? TRY(runs_of(server, *group)) : std::vector<Json>();
  const Cells cells = cells_of(runs);
  if (cells.size() > kMostGroups)
    return fail(Code::kInvalidArgument,
                fmt::format("{} has {} workloads: at most {} are compared at once; name one of its "
                            "experiments, or some workloads as groups",
                            group->what, cells.size(), kMostGroups));
  if (cells.size() < 2)
    return fail(Code::kInvalidArgument,
                fmt::format("'{}': expected a plan or experiment with two workloads or more, two "
                            "groups, or one and --by",
                            printable(name)));
  data.what = group->what;
  if (is_plan(*group)) {
    data.plan = group->id;
    data.planned = group->runs.size() + group->without_run;
    data.without_run =
        group->without_run +
        static_cast<std::size_t>(std::ranges::count_if(group->runs, [&](const std::string& id) {
          return std::ranges::none_of(runs,
                                      [&](const Json& run) { return run.get_string("id") == id; });
        }));
  }
  question.set("groups", cells.groups());
  std::string path = group->path + "/collocation";
  if (!flags.job.empty()) path += "?job=" + sys::url_encode(flags.job);
  data.collocation = TRY(get_json(server, path));
  auto workflow = get_json(server, group->path + "/workflow");
  if (workflow) data.workflow = *std::move(workflow);
  return {};
}

Result<ReportData> read_report(const sys::HttpTarget& server, const ReportFlags& flags) {
  ReportData data;
  Json question = TRY(group_question(flags.of));
  if (!flags.target.empty()) question.set("target", flags.target);
  if (flags.of.groups.size() == 1 && flags.of.by.empty()) {
    TRY(read_plan(server, flags, question, data));
  } else {
    std::vector<std::string> names;
    for (const std::string& group : flags.of.groups) names.push_back(printable(group));
    data.what = join(names, " and ");
  }
  data.comparison = TRY(ask_about_groups(server, "compare", question));
  data.digest =
      hex(sha256(data.comparison.dump() + data.collocation.dump() + data.workflow.dump()), 16);
  return data;
}

std::size_t count_runs(const Json& comparison) {
  std::size_t runs = 0;
  for (const Json& group : items(comparison, "groups"))
    for (const Json& unit : items(group, "units")) runs += items(unit, "runs").size();
  return runs;
}

// ---- the document

std::string command_of(const ReportFlags& flags) {
  const std::string server = sys::without_passwords(flags.destination.server);
  std::vector<std::string> words{"corral", "report"};
  words.insert(words.end(), flags.of.groups.begin(), flags.of.groups.end());
  for (const auto& [name, value] :
       {std::pair("--by", &flags.of.by), std::pair("--metric", &flags.of.metric),
        std::pair("--of", &flags.of.of), std::pair("--target", &flags.target),
        std::pair("--job", &flags.job), std::pair("--title", &flags.title),
        std::pair("--margin", &flags.of.margin), std::pair("--server", &server),
        std::pair("-o", &flags.output)})
    if (!value->empty()) words.insert(words.end(), {name, *value});
  return printable(run::schedule::shell_words(words));
}

// The text of a fact that all runs have in common; empty: they have not.
std::string common_fact(const Json& comparison, std::string_view part, std::string_view key) {
  for (const Json& one : items(comparison, "set_up"))
    if (one.get_string("part") == part && one.get_string("key") == key)
      return one.get_string("text");
  return "";
}

class Report {
 public:
  Report(const ReportData& data, const ReportFlags& flags, const std::string& format)
      : data_(data), flags_(flags), format_(format), page_(format, &text_) {}

  // Once.
  std::string make() {
    page_.heading(printable(flags_.title.empty() ? "Report: " + data_.what : flags_.title));
    page_.paragraph(
        fmt::format("Made at {} by Corral {} from {} runs (data {}). This command makes "
                    "it again, and with --check says whether the data have changed:",
                    time_text(Json(std::to_string(ns_of(sys::utc_now())))), kVersion,
                    count_runs(data_.comparison), data_.digest));
    page_.command(command_of(flags_));
    write_findings();
    write_design();
    write_runs();
    print_comparison(page_.section(), data_.comparison);
    write_figure(ratios_figure(data_.comparison), "ratios");
    write_collocation();
    write_workflow();
    write_set_up();
    write_limits();
    return std::move(text_);
  }

  // Files that stand beside it: name, and content.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& files() const {
    return files_;
  }

 private:
  void write_findings() {
    page_.title("Findings");
    for (const Json& one : items(data_.comparison, "differences"))
      page_.line(printable(one.get_string("text")));
  }

  void write_design() {
    std::map<std::string, std::size_t> outcomes;
    for (const Json& group : items(data_.comparison, "groups"))
      for (const Json& unit : items(group, "units"))
        for (const Json& run : items(unit, "runs")) ++outcomes[run.get_string("status")];
    std::vector<std::string> counts;
    counts.reserve(outcomes.size());
    for (const auto& [status, count] : outcomes)
      counts.push_back(fmt::format("{} {}", count, status));
    std::vector<std::vector<std::string>> rows = {{"Value", data_.comparison.get_string("value")},
                                                  {"Runs", join(counts, ", ")}};
    if (data_.planned)
      rows.push_back({"Planned", fmt::format("{} runs, of which {} did not start; further attempts "
                                             "are counted as runs",
                                             *data_.planned, *data_.without_run)});
    std::size_t paired = 0;
    for (const Json& one : items(data_.comparison, "differences"))
      paired += member(one, "pairs").is_null() ? 0 : 1;
    rows.push_back({"Compared as", paired > 0 ? "pairs of the same block, where both have a value"
                                              : "groups, whatever their order"});
    const std::string rule = common_fact(data_.comparison, "tag", "corral.plan.until_interval");
    rows.push_back({"Stopping rule",
                    rule.empty() ? "none was recorded: the number of runs may have been chosen "
                                   "after results"
                                 : "recorded before the runs: repeated until each interval is "
                                   "within " +
                                       printable(rule)});
    if (!member(data_.comparison, "margin").is_null())
      rows.push_back({"Margin", data_.comparison.get_bool("margin_planned")
                                    ? "given when the runs started"
                                    : "chosen afterwards (post hoc)"});
    page_.title("Design");
    page_.table({"WHAT", "HOW"}, rows);
  }

  static std::string notes_of(const Json& unit) {
    std::vector<std::string> notes;
    const auto add = [&](const std::string& text) {
      const std::string note = printable(text);
      if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    };
    add(unit.get_string("reason"));
    for (const Json& run : items(unit, "runs")) {
      if (const std::string reason = run.get_string("not_steady"); !reason.empty())
        add("not steady: " + reason);
      add(run.get_string("not_captured"));
    }
    const auto rounds = std::ranges::count_if(
        items(unit, "runs"), [](const Json& run) { return run.get_bool("left_out"); });
    if (rounds > 0)
      notes.push_back(
          fmt::format("{} round{} that started again left out", rounds, rounds == 1 ? "" : "s"));
    if (unit.get_int("beside") > 0)
      notes.push_back(fmt::format("{} others of its workload beside it", unit.get_int("beside")));
    return notes.empty() ? "–" : join(notes, "; ");
  }

  struct Entry {
    std::string group;
    const Json* unit;
  };
  [[nodiscard]] std::vector<Entry> entries_in_order() const {
    std::vector<Entry> entries;
    for (const Json& group : items(data_.comparison, "groups"))
      for (const Json& unit : items(group, "units"))
        entries.push_back({group.get_string("name"), &unit});
    std::ranges::stable_sort(entries, {},
                             [](const Entry& one) { return one.unit->get_int("start_ns"); });
    return entries;
  }

  static std::string csv_of(const std::vector<Entry>& entries) {
    constexpr std::array kOfUnit = {"name",    "start_ns", "value", "unit",
                                    "from_ns", "to_ns",    "reason"};
    std::vector<TableColumn> columns;
    for (const char* name : {"order", "group", "runs", "host", "status"})
      columns.push_back({name, name});
    for (const char* name : kOfUnit) columns.push_back({name, name});
    Table table(std::move(columns));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Json::Array& runs = items(*entries[i].unit, "runs");
      std::string ids;
      for (const Json& run : runs) ids += (ids.empty() ? "" : " ") + run.get_string("id");
      std::vector<Cell> cells = {plain(Json(static_cast<std::int64_t>(i + 1))),
                                 plain(Json(entries[i].group)), plain(Json(ids)),
                                 plain(member(runs.front(), "host")),
                                 plain(member(runs.front(), "status"))};
      for (const char* name : kOfUnit) cells.push_back(plain(member(*entries[i].unit, name)));
      table.add(std::move(cells));
    }
    return table.print("csv");
  }

  void write_runs() {
    const std::vector<Entry> entries = entries_in_order();
    std::vector<std::vector<std::string>> rows;
    for (const Entry& entry : entries) {
      const Json& unit = *entry.unit;
      const std::size_t runs = items(unit, "runs").size();
      rows.push_back(
          {printable(unit.get_string("name")) + (runs > 1 ? fmt::format(" ({} runs)", runs) : ""),
           printable(entry.group), std::to_string(rows.size() + 1),
           time_text(member(unit, "start_ns")),
           value_in_unit(member(unit, "value"), unit.get_string("unit")), notes_of(unit)});
    }
    page_.title("Runs");
    write_figure(values_figure(data_.comparison), "values");
    page_.table({"RUN", "GROUP", "ORDER", "STARTED", "VALUE", "NOTES"}, rows);
    attach("runs.csv", csv_of(entries));
    attach("differences.csv", comparison_csv(data_.comparison));
  }

  void write_collocation() {
    if (items(data_.collocation, "cells").empty()) return;
    const TextPage section = page_.section();
    section.heading("Runs beside each other");
    print_collocation(section, data_.collocation);
  }

  void write_workflow() {
    if (data_.workflow.is_null()) return;
    const WorkflowText found = workflow_text(data_.workflow);
    page_.title("The whole");
    page_.line(found.summary);
    if (!found.rows.empty()) page_.table(found.head, found.rows);
    for (const std::string& line : found.lines) page_.line(line);
    for (const std::string& line : found.footprint) page_.line(line);
  }

  // Packages and variables are many: each of the two is one cell.
  void write_set_up() {
    std::vector<std::vector<std::string>> rows;
    std::map<std::string, std::vector<std::string>> lists;
    std::vector<std::string> missing;
    for (const Json& one : items(data_.comparison, "set_up")) {
      const std::string part = one.get_string("part"), key = one.get_string("key");
      const std::string value = brief(one.get_string("text"), 100);
      if (part == "package" || part == "variable") {
        lists[part].push_back(printable(key) + " " + value);
      } else if (value.starts_with("not available: ")) {
        missing.push_back(printable(key));
      } else {
        rows.push_back({part, printable(key), value});
      }
    }
    for (const auto& [part, list] : lists) rows.push_back({part, "all", join(list, ", ")});
    page_.title("What all runs have in common");
    page_.table({"PART", "WHAT", "VALUE"}, rows);
    if (!missing.empty())
      page_.line("Not available here, for reasons that each run has: " + join(missing, ", ") + ".");
  }

  // The order of the runs tells whether the machine drifted: values by the mean of their group.
  [[nodiscard]] std::vector<std::string> drift_lines() const {
    constexpr std::size_t kLeast = 8;
    std::map<std::string, double> means;
    for (const Json& group : items(data_.comparison, "groups"))
      means[group.get_string("name")] = member(group, "mean").as_double(0);
    std::vector<double> rest;
    for (const Entry& entry : entries_in_order())
      if (const Json& value = member(*entry.unit, "value");
          !value.is_null() && means[entry.group] > 0)
        rest.push_back(std::log(value.as_double(0) / means[entry.group]));
    if (rest.size() < kLeast) return {};
    const auto half = static_cast<std::ptrdiff_t>(rest.size() / 2);
    const auto mean = [](auto from, auto to) {
      return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
    };
    const double drift =
        mean(rest.end() - half, rest.end()) - mean(rest.begin(), rest.begin() + half);
    double squares = 0, neighbours = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      squares += rest[i] * rest[i];
      if (i > 0) neighbours += rest[i] * rest[i - 1];
    }
    std::vector<std::string> lines = {
        fmt::format("In the order of their starts, values of the second half of the runs are "
                    "{:+.3g} % from those "
                    "of the first half, each by its group's mean.",
                    100 * std::expm1(drift))};
    const double likeness = squares > 0 ? neighbours / squares : 0;
    if (likeness > 2 / std::sqrt(static_cast<double>(rest.size())))
      lines.push_back(
          fmt::format("Runs near each other in time resemble each other (correlation of neighbours "
                      "{:.2f}): they "
                      "depend on each other, which pairs of a block take out in part.",
                      likeness));
    return lines;
  }

  void write_limits() {
    page_.title("Limits");
    std::size_t unsteady = 0, uncounted = 0, all = 0;
    for (const Json& group : items(data_.comparison, "groups"))
      for (const Json& unit : items(group, "units")) {
        ++all;
        uncounted += member(unit, "value").is_null() ? 1 : 0;
        unsteady += std::ranges::any_of(items(unit, "runs"), [](const Json& run) {
          return !run.get_string("not_steady").empty();
        });
      }
    page_.line(
        fmt::format("{} of {} runs have a value; {} had no steady part, and count with all "
                    "of their steps.",
                    all - uncounted, all, unsteady));
    for (const std::string& line : drift_lines()) page_.line(line);
    page_.line(flags_.target.empty()
                   ? "Intervals are Student's t on the logarithms of the runs' values. They assume "
                     "that runs do not depend on each other, and no rare stalls."
                   : "Times to the target are compared by ranks, which assumes that runs do not "
                     "depend on each other. Means have no interval.");
    page_.line(
        "Other recorded differences between the set-ups may also be the cause; the tables list "
        "them.");
    for (const Json& text : items(data_.collocation, "missing"))
      page_.line("Not known: " + printable(plain(text).text) + ".");
  }

  void write_figure(const std::optional<Figure>& figure, const std::string& name) {
    if (!figure) return;
    if (format_ == "html") return page_.raw("<figure>" + figure->svg(name) + "</figure>\n");
    if (format_ == "pdf")
      return page_.raw(Json(Json::Object{{"kind", "figure"}, {"figure", figure->drawn()}}).dump() +
                       "\n");
    if (format_ == "latex")
      return page_.raw("\n" + figure->tikz([](const std::string& text) {
        return TextPage("latex").escaped(text);
      }));
    page_.raw(fmt::format("\n![{}]({})\n", name, sys::url_encode(attached(name + ".svg"))));
    files_.emplace_back(attached(name + ".svg"), figure->svg(name));
  }

  // "study-runs.csv"
  [[nodiscard]] std::string attached(const std::string& name) const {
    return fs::path(flags_.output).stem().string() + "-" + name;
  }

  void attach(const std::string& name, const std::string& content) {
    if (format_ == "html")
      return page_.raw(fmt::format(
          "<p><a download=\"{}\" href=\"data:text/csv;charset=utf-8,{}\">{}"
          "</a></p>\n",
          page_.escaped(attached(name)), sys::url_encode(content), page_.escaped(attached(name))));
    files_.emplace_back(attached(name), content);
    page_.line("Numbers: " + attached(name));
  }

  const ReportData& data_;
  const ReportFlags& flags_;
  const std::string& format_;
  std::string text_;
  TextPage page_;
  std::vector<std::pair<std::string, std::string>> files_;
};

// ---- the file

constexpr std::string_view kHtmlHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 Inter, Helvetica, Arial, sans-serif; color: #1b1c1e; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; } h3, h4 { font-size: 1rem; margin-top: 1.6rem; }
pre { background: #f4f4f1; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: .8rem 0; } table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid #1b1c1e; } th, td { padding: .2rem .9rem .2rem 0; vertical-align: top; }
td { border-bottom: 1px solid #e4e4e0; overflow-wrap: anywhere; } .right { text-align: right; white-space: nowrap; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } figure, tr { break-inside: avoid; } }
</style>
)";
constexpr std::string_view kLatexHead = R"(\documentclass{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs,longtable,textcomp,tikz}
\usepackage{newunicodechar}
\newunicodechar{–}{--}
\newunicodechar{×}{\ensuremath{\times}}
\newunicodechar{±}{\ensuremath{\pm}}
\newunicodechar{µ}{\textmu}
\newunicodechar{…}{\ldots}
\setlength{\parindent}{0pt}
\begin{document}
\footnotesize
)";

// A comment with all that --check needs. Two hyphens would end one of HTML.
std::string mark_of(const ReportFlags& flags, const ReportData& data,
                    const std::vector<std::pair<std::string, std::string>>& files) {
  Json::Array groups, names;
  for (const auto& [name, content] : files) names.emplace_back(name);
  // A file of the plan's name may be another one in the folder where this is checked.
  for (const std::string& group : flags.of.groups)
    groups.emplace_back(data.plan.empty() ? group : data.plan);
  const Json mark{Json::Object{{"groups", Json(std::move(groups))},
                               {"by", flags.of.by},
                               {"metric", flags.of.metric},
                               {"of", flags.of.of},
                               {"target", flags.target},
                               {"margin", flags.of.margin},
                               {"job", flags.job},
                               {"files", Json(std::move(names))},
                               {"runs", static_cast<std::int64_t>(count_runs(data.comparison))},
                               {"digest", data.digest}}};
  std::string text = mark.dump();
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at))
    text.replace(at, 2, "-\\u002d");
  return std::string(kMark) + text;
}

// The page's code lays out the blocks of the body.
Result<std::string> pdf_of(const std::string& body, const std::string& mark) {
  Json::Array blocks;
  for (const std::string_view line : split(body, '\n'))
    if (!line.empty()) blocks.push_back(TRY(Json::parse(line)));
  script::Script code = TRY(load_page_code([](const Json&) -> Result<std::string> {
    return fail(Code::kUnsupported, "a report has all that it shows");
  }));
  const std::string title = blocks.empty() ? "Report" : blocks.front().get_string("text");
  const Json document{Json::Object{{"title", title},
                                   {"blocks", Json(std::move(blocks))},
                                   {"id", hex(sha256(mark), 16)},
                                   {"comment", mark}}};
  return code.call(kPageCode, "report", document.dump());
}

Result<std::string> document_of(const std::string& body, const std::string& mark,
                                const std::string& format) {
  if (format == "pdf") return pdf_of(body, mark);
  if (format == "html")
    return fmt::format("{}<!-- {} -->\n<title>Report</title></head><body>\n{}</body></html>\n",
                       kHtmlHead, mark, body);
  if (format == "latex")
    return fmt::format("% {}\n{}{}\\end{{document}}\n", mark, kLatexHead, body);
  return fmt::format("{}\n<!-- {} -->\n", body, mark);
}

// Texts of the document may look like one: the mark is a line of its own, which begins a comment.
Result<Json> read_mark(const std::string& path) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  if (!is_file && fs::exists(path, error))
    return fail(Code::kInvalidArgument, fmt::format("{} is no file", printable(path)));
  const std::string text = TRY(sys::read_file(path));
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("<!-- ") && !line.starts_with("% ")) continue;
    line.remove_prefix(line.find(' ') + 1);
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    if (const std::size_t end = line.rfind('}'); end != std::string_view::npos)
      if (auto mark = Json::parse(line.substr(0, end + 1)); mark && mark->as_object() != nullptr)
        return mark;
  }
  return fail(Code::kInvalidArgument, fmt::format("{} is no report of Corral", printable(path)));
}

Result<std::string> format_of(const std::string& output) {
  const std::string end = fs::path(output).extension();
  if (end == ".html" || end == ".htm") return "html";
  if (end == ".md") return "markdown";
  if (end == ".tex") return "latex";
  if (end == ".pdf") return "pdf";
  return fail(Code::kInvalidArgument,
              fmt::format("-o '{}': expected a name that ends in .html, .pdf, .md or .tex",
                          printable(output)));
}

// Only a report is overwritten, and only files that it names as its own, or one of its other forms.
Result<> check_free(const std::string& output,
                    const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code error;
  if (fs::exists(output, error) && !read_mark(output))
    return fail(Code::kConflict,
                fmt::format("{} exists and is no report: give another name, or remove it",
                            printable(output)));
  std::set<std::string> own;
  for (const char* end : {".html", ".htm", ".pdf", ".md", ".tex"}) {
    const fs::path form = fs::path(output).replace_extension(end);
    const auto mark = fs::exists(form, error) ? read_mark(form) : Json();
    if (!mark) continue;
    for (const Json& name : items(*mark, "files"))
      if (name.as_string() != nullptr) own.insert(*name.as_string());
  }
  for (const auto& [name, content] : files) {
    const fs::path path = fs::path(output).parent_path() / name;
    if (own.contains(name) || !fs::exists(path, error)) continue;
    return fail(Code::kConflict,
                fmt::format("{} would be overwritten: give another name, or remove it",
                            printable(path.string())));
  }
  return {};
}

Result<int> write_report(const ReportFlags& flags) {
  const std::string format = TRY(format_of(flags.output));
  if (flags.title.find_first_of("\n\r") != std::string::npos)
    return fail(Code::kInvalidArgument, "--title: expected one line");
  TRY(check_free(flags.output, {}));
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const ReportData data = TRY(read_report(server, flags));
  Report report(data, flags, format);
  const std::string body = report.make();
  const fs::path folder = fs::path(flags.output).parent_path();
  TRY(check_free(flags.output, report.files()));
  const auto write = [](const std::string& path, const std::string& content) -> Result<> {
    OutputTarget file = TRY(OutputTarget::open(path));
    TRY(file.write(content));
    return file.finish();
  };
  const std::string document = TRY(document_of(body, mark_of(flags, data, report.files()), format));
  for (const auto& [name, content] : report.files()) TRY(write(folder / name, content));
  TRY(write(flags.output, document));
  fmt::print("{}: {} runs in {} groups\n", printable(flags.output), count_runs(data.comparison),
             items(data.comparison, "groups").size());
  if (compares_nothing(data.comparison))
    complain("report", "nothing could be compared: no run of a side counts");
  return kDone;
}

Result<int> check_report(ReportFlags flags) {
  const std::string file = flags.of.groups.front();
  const Json mark = TRY(read_mark(file));
  flags.of.groups.clear();
  for (const Json& group : items(mark, "groups"))
    if (group.as_string() != nullptr) flags.of.groups.push_back(*group.as_string());
  flags.of.by = mark.get_string("by");
  flags.of.metric = mark.get_string("metric");
  flags.of.of = mark.get_string("of");
  flags.of.margin = mark.get_string("margin");
  flags.target = mark.get_string("target");
  flags.job = mark.get_string("job");
  if (flags.of.groups.empty())
    return fail(Code::kInvalidArgument, fmt::format("{} names no runs", printable(file)));
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const ReportData data = TRY(read_report(server, flags));
  if (data.digest == mark.get_string("digest")) {
    fmt::print("{}: nothing has changed since it was made\n", printable(file));
    return kDone;
  }
  fmt::print(stderr,
             "corral report: {}: its data, or how they are analysed, have changed since ({} runs "
             "then, {} now)\n",
             printable(file), mark.get_int("runs"), count_runs(data.comparison));
  return kFailed;
}

Result<int> report_or_check(const ReportFlags& flags) {
  if (flags.check && (flags.of.groups.size() != 1 || !flags.output.empty()))
    return fail(Code::kInvalidArgument, "--check takes one report, and makes none");
  if (flags.check) return check_report(flags);
  if (flags.output.empty())
    return fail(Code::kInvalidArgument, "-o is missing: a file such as report.html");
  return write_report(flags);
}

}  // namespace

int report_command(std::span<char* const> args) {
  ReportFlags flags;
  Arguments arguments("report",
                      "Writes a document about groups of runs or a plan: findings, design, every "
                      "run, comparisons, collocation, energy and limits. It needs no browser.",
                      kReportExamples);
  add_group_flags(arguments, flags.of);
  arguments.text("target", flags.target, "compare the times to it, e.g. 'val_acc >= 0.9'");
  arguments.text("job", flags.job, "of runs beside others: what is one job, e.g. params.model");
  arguments.text("output", flags.output,
                 "file to write, also -o; it ends in .html, .pdf, .md or .tex", 'o');
  arguments.text("title", flags.title, "its title");
  arguments.flag("check", flags.check, "exit with 1 if the data of this report have changed");
  for (const char* name : {"target", "job", "output", "title", "check"})
    arguments.as_flag_only(name);
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("report", report_or_check(flags));
}

}  // namespace corral::cli
