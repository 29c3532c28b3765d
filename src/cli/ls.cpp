#include "cli/ls.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

// Each once, in the order of their first.
void add_once(std::vector<std::string>& all, std::string text) {
  if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
}

std::string text_or_dash(std::string text) { return text.empty() ? "–" : std::move(text); }

// Returns the name of a run within its workload.
std::string short_name(const Json& run) {
  const std::string letter = run.get_string("letter");
  return letter.empty() ? run.get_string("name") : letter;
}

std::string collocations(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& run : items(workload, "members")) add_once(all, run.get_string("collocation"));
  return join(all, ", ");
}

// "0:3g.20gb", "GPU-…", "cpus 0-3"
std::vector<std::string> device_names(const Json& run) {
  std::vector<std::string> all;
  for (const Json& device : items(run, "devices")) {
    const std::string profile = device.get_string("profile");
    add_once(all, device.get_string("device") + (profile.empty() ? "" : ":" + profile));
  }
  if (const std::string cpus = run.get_string("cpus"); !cpus.empty()) all.push_back("cpus " + cpus);
  return all;
}

std::string devices(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& run : items(workload, "members")) {
    for (std::string& device : device_names(run)) add_once(all, std::move(device));
  }
  return join(all, ", ");
}

// Returns the name of a run of another workload: "8/0_A".
std::string other_name(const Json& run) {
  const std::string workload = run.get_string("workload");
  return workload.empty() ? run.get_string("name") : workload + "/" + short_name(run);
}

// "gpu0: 0_A + 0_B + 8/0_A; cpus 2-3: …"; instances are named by their device already.
std::string shared(const Json& workload) {
  std::vector<std::string> all;
  for (const Json& place : items(workload, "shared")) {
    std::vector<std::string> names;
    for (const Json& run : items(workload, "members")) {
      const Json id(run.get_string("id"));
      const auto& runs = items(place, "runs");
      if (std::ranges::any_of(runs, [&](const Json& one) { return one.dump() == id.dump(); }))
        names.push_back(short_name(run));
    }
    for (const Json& run : items(place, "others")) names.push_back(other_name(run));
    const std::string kind = place.get_string("kind") == "cpus" ? "cpus " : "";
    all.push_back(kind + place.get_string("name") + ": " + join(names, " + "));
  }
  return join(all, "; ");
}

// "2 finished, 1 out-of-memory"
std::string outcomes(const Json& workload) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Json& run : items(workload, "members")) {
    const std::string outcome = outcome_text(run);
    const auto known = std::ranges::find(counts, outcome, &std::pair<std::string, int>::first);
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(outcome, 1);
    }
  }
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const auto& [outcome, count] : counts) words.push_back(fmt::format("{} {}", count, outcome));
  return join(words, ", ");
}

// Phases of one name within phases of one name: a data wait of a step is none of an evaluation.
struct PhaseSum {
  std::string name;
  std::string within;  // "": no phase is around
  std::int64_t count = 0;
  std::int64_t ended = 0;
  double total_s = 0;    // within the run
  double lengths_s = 0;  // sum over those that ended
  double share = 0;
};

// The name of the phase that is `outward` steps around the innermost of a path.
std::string path_name(const Json::Array& path, std::size_t outward) {
  if (path.size() <= outward) return {};
  const std::string* name = path[path.size() - 1 - outward].as_string();
  return name != nullptr ? *name : std::string();
}

std::vector<PhaseSum> phase_sums(const Json& answer) {
  std::vector<PhaseSum> sums;
  for (const Json& run : items(answer, "runs")) {
    for (const Json& phase : items(run, "phases")) {
      const Json::Array& path = items(phase, "path");
      const std::string name = path_name(path, 0), within = path_name(path, 1);
      auto sum = std::ranges::find_if(
          sums, [&](const PhaseSum& s) { return s.name == name && s.within == within; });
      if (sum == sums.end()) sum = sums.insert(sum, PhaseSum{.name = name, .within = within});
      const std::int64_t ended = phase.get_int("count", 0) - phase.get_int("open", 0);
      sum->count += phase.get_int("count", 0);
      sum->ended += ended;
      sum->total_s += member(phase, "total_s").as_double(0);
      sum->lengths_s += member(phase, "mean_s").as_double(0) * static_cast<double>(ended);
      sum->share += member(phase, "share").as_double(0);
    }
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &PhaseSum::total_s);
  return sums;
}

template <std::string (*Text)(const Json&)>
Cell text_cell(const Json& object, const char*) {
  const std::string text = Text(object);
  return {text, text_or_dash(text)};
}

Cell count_cell(const Json& object, const char* name) {
  return {member(object, name), std::to_string(items(object, name).size())};
}

// "3 finished, 1 running"
Cell state_counts(const Json& plan, const char* name) {
  std::vector<std::string> counts;
  if (const auto* states = member(plan, name).as_object()) {
    for (const auto& [state, count] : *states)
      counts.push_back(fmt::format("{} {}", plain(count).text, state));
  }
  return {member(plan, name), text_or_dash(join(counts, ", "))};
}

Cell message_cell(const Json& plan, const char* name) {
  return {member(plan, name), text_or_dash(plan.get_string(name))};
}

}  // namespace

Table phase_summary(const Json& answer) {
  Table table({{"name", "NAME"},
               {"within", "WITHIN"},
               {"count", "COUNT", true},
               {"total_s", "TOTAL", true},
               {"mean_s", "MEAN", true},
               {"share", "OF THE RUN", true}});
  for (const PhaseSum& sum : phase_sums(answer)) {
    const Json total(sum.total_s);
    const Json mean = sum.ended > 0 ? Json(sum.lengths_s / static_cast<double>(sum.ended)) : Json();
    table.add({plain(sum.name),
               plain(sum.within),
               plain(Json(sum.count)),
               {total, precise_duration_text(total)},
               {mean, precise_duration_text(mean)},
               {Json(sum.share), fmt::format("{:.1f} %", sum.share * 100)}});
  }
  return table;
}

Table workloads_table(const Json& answer) {
  return list_of(items(answer, "workloads"),
                 {{"id", "ID", false, short_id},
                  {"experiment", "EXPERIMENT"},
                  {"name", "NAME"},
                  {"runs", "RUNS", true, count_cell},
                  {"collocation", "COLLOCATION", false, text_cell<collocations>},
                  {"devices", "DEVICES", false, text_cell<devices>},
                  {"shared", "SHARED", false, text_cell<shared>},
                  {"outcomes", "OUTCOME", false, text_cell<outcomes>},
                  {"experiment_id", "EXPERIMENT ID", true},
                  {"created_ns", "CREATED", false, time_cell}});
}

Table plans_table(const Json& answer) {
  return list_of(items(answer, "plans"), {{"id", "ID", false, short_id},
                                          {"file", "FILE"},
                                          {"host", "HOST"},
                                          {"state", "STATE", false, state_cell},
                                          {"runs", "RUNS", true},
                                          {"workloads", "WORKLOADS", true},
                                          {"counts", "BY STATE", false, state_counts},
                                          {"message", "MESSAGE", false, message_cell},
                                          {"updated_ns", "UPDATED", false, time_cell}});
}

namespace {

// The classes of series that say nothing of their own, and their plural.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFoldedClasses = {
    {{"constant", "constant"}, {"duplicate", "duplicates"}, {"few points", "with few points"}}};

bool is_folded(const std::string& type) {
  return std::ranges::find(kFoldedClasses, type,
                           &std::pair<std::string_view, std::string_view>::first) !=
         kFoldedClasses.end();
}

constexpr std::size_t kMostParams = 6;    // columns of params in a table for people
constexpr std::size_t kWidestParam = 24;  // bytes
constexpr Nanos kWatchPause{std::chrono::seconds(2)};

constexpr const char* kLsExamples =
    "  corral ls runs                        newest first, with the params that differ\n"
    "  corral ls runs --experiment digits --metric val_acc --watch\n"
    "  corral ls workloads                   what ran together, and who shared which device\n"
    "  corral ls plans                       how far each plan is\n"
    "  corral ls trash                       runs that corral restore brings back\n"
    "  corral ls metrics @1 --format json    series of the newest run and of its workload\n"
    "  corral ls metrics @1 --interesting    those that changed, or follow the step time, first\n"
    "  corral ls phases calm-otter-07        a run by name; a unique prefix of its id does too\n"
    "  corral ls phases @1 --summary         what its time went into\n";

struct LsFlags {
  DestinationFlags destination;
  std::string what;
  std::string run;
  std::string experiment;
  std::string format = "table";
  std::string limit = "100";
  std::vector<std::string> metrics;
  bool watch = false;
  bool summary = false;
  bool interesting = false;
  bool all = false;
};

using Query = Result<Table> (*)(const sys::HttpTarget&, const LsFlags&);

Result<Table> list_experiments(const sys::HttpTarget& server, const LsFlags&) {
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  return list_of(items(answer, "experiments"), {{"id", "ID", true},
                                                {"name", "NAME"},
                                                {"runs", "RUNS", true},
                                                {"running", "RUNNING", true},
                                                {"created_ns", "CREATED", false, time_cell}});
}

// The id of an experiment given by name or id.
Result<std::string> experiment_id(const sys::HttpTarget& server, const std::string& text) {
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  for (const Json& e : items(answer, "experiments")) {
    if (e.get_string("name") == text || e.get_string("id") == text) return e.get_string("id");
  }
  return fail(Code::kNotFound,
              fmt::format("no experiment '{}'; corral ls experiments lists them", text));
}

Result<std::string> experiment_filter(const sys::HttpTarget& server, const LsFlags& flags) {
  if (flags.experiment.empty()) return std::string();
  return "experiment=" + TRY(experiment_id(server, flags.experiment)) + "&";
}

Result<Table> list_workloads(const sys::HttpTarget& server, const LsFlags& flags) {
  const std::string filter = TRY(experiment_filter(server, flags));
  return workloads_table(
      TRY(get_json(server, "/api/corral/v1/workloads?" + filter + "members=true")));
}

Result<Table> list_plans(const sys::HttpTarget& server, const LsFlags&) {
  return plans_table(TRY(get_json(server, "/api/corral/v1/plans")));
}

// An old run has no record of its health; it shows no problems.
Cell health_cell(const Json& run, const char* name) {
  const std::int64_t count = run.get_int(name, 0);
  if (count == 0) return {member(run, name), "ok"};
  return {member(run, name), counted(count, "problem"), Tone::kBad};
}

// A number for people; NaN and infinities are texts in JSON.
std::string number_text(const Json& value) {
  return value.is_null() || value.as_string() != nullptr ? plain(value).text
                                                         : with_unit(value.as_double(0), "");
}

Cell loss_cell(const Json& run, const char* name) {
  const Json& loss = member(member(run, name), "value");
  return {loss, number_text(loss)};
}

Cell phase_duration(const Json& phase, const char*) {
  const std::int64_t start = phase.get_int("start_ns", -1);
  const std::int64_t end = phase.get_int("end_ns", -1);
  const Json duration =
      start >= 0 && end >= 0 ? Json(static_cast<double>(end - start) * 1e-9) : Json();
  return {duration, precise_duration_text(duration)};
}

// The value of a param, "params.lr", or of a metric, among the details of a run.
Cell detail_cell(const Json& run, const char* name) {
  const std::string column(name);
  const std::size_t dot = column.find('.');
  const Json& value =
      member(member(run, column.substr(0, dot).c_str()), column.substr(dot + 1).c_str());
  return {value, column.starts_with("metrics.") ? number_text(value)
                                                : brief(plain(value).text, kWidestParam)};
}

// The params that not all of the runs have with the same value, "params.lr", by key.
std::vector<std::string> differing_params(const Json::Array& runs) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;  // runs by key and value
  for (const Json& run : runs) {
    const auto* params = member(run, "params").as_object();
    if (params == nullptr) continue;
    for (const auto& [key, value] : *params) ++counts[key][plain(value).text];
  }
  std::vector<std::string> columns;
  for (const auto& [key, values] : counts)
    if (values.size() > 1 || values.begin()->second < runs.size())
      columns.push_back("params." + key);
  return columns;
}

Result<Json> search_runs(const sys::HttpTarget& server, const LsFlags& flags) {
  const auto limit = parse_int(flags.limit);
  if (!limit || *limit < 1 || *limit > 1000)
    return fail(Code::kInvalidArgument, "--limit must be from 1 to 1000");
  const std::string experiment =
      flags.experiment.empty() ? "" : TRY(experiment_id(server, flags.experiment));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("details").value(true).key("limit").value(*limit);
  if (flags.what == "trash") json.member("state", "trashed");
  if (flags.what == "archive") json.member("state", "archived");
  if (!experiment.empty()) json.key("experiments").begin_array().value(experiment).end_array();
  json.end_object();
  return send_json(server, {.method = "POST", .path = "/api/corral/v1/runs/search", .body = body});
}

Result<Table> list_runs(const sys::HttpTarget& server, const LsFlags& flags) {
  const Json answer = TRY(search_runs(server, flags));
  const Json::Array& runs = items(answer, "runs");
  std::vector<std::string> columns = differing_params(runs);
  if (flags.format == "table" && columns.size() > kMostParams) {
    if (!flags.watch)
      fmt::print(stderr, "{} more params differ; --format csv has them\n",
                 columns.size() - kMostParams);
    columns.resize(kMostParams);
  }
  for (const std::string& metric : flags.metrics) columns.push_back("metrics." + metric);
  std::vector<Field> fields = {{"id", "ID", false, short_id},
                               {"name", "NAME"},
                               {"experiment", "EXPERIMENT"},
                               {"workload", "WORKLOAD"},
                               {"status", "STATUS", false, state_cell},
                               {"outcome", "OUTCOME", false, state_cell},
                               {"health_problems", "HEALTH", false, health_cell},
                               {"start_ns", "STARTED", false, time_cell},
                               {"duration_s", "DURATION", true, duration_cell},
                               {"loss", "LOSS", true, loss_cell},
                               {"host", "HOST"}};
  const bool by_users =
      std::ranges::any_of(runs, [](const Json& run) { return !run.get_string("creator").empty(); });
  if (by_users || flags.format != "table") fields.push_back({"creator", "RECORDED BY"});
  for (const std::string& column : columns)
    fields.push_back({column, brief(column.substr(column.find('.') + 1), kWidestParam),
                      column.starts_with("metrics."), detail_cell});
  return list_of(runs, fields);
}

Cell interest_cell(const Json& series, const char* name) {
  const Json& value = member(series, name);
  return {value, fmt::format("{:.2f}", value.as_double(0))};
}

// "41 constant, 12 duplicates": the series that are folded.
std::string folded_text(const Json& answer) {
  std::vector<std::string> counts;
  for (const auto& folded : kFoldedClasses) {
    const auto count = std::ranges::count_if(items(answer, "series"), [&](const Json& series) {
      return series.get_string("class") == folded.first;
    });
    if (count > 0)
      counts.push_back(fmt::format("{} {}", count, count == 1 ? folded.first : folded.second));
  }
  return join(counts, ", ");
}

// "host.disk.busy of sda", by series.
std::map<std::string, std::string> series_names(const Json& answer) {
  std::map<std::string, std::string> names;
  for (const Json& series : items(answer, "series")) {
    const std::string source = series.get_string("source");
    names[member(series, "series").dump()] =
        series.get_string("metric") + (source.empty() ? "" : " of " + source);
  }
  return names;
}

Result<Table> list_interesting(const sys::HttpTarget& server, const LsFlags& flags) {
  const Json answer = TRY(get_json(server, run_path(flags.run, "/interest")));
  const bool all = flags.all || flags.format != "table";
  const auto names = series_names(answer);
  std::vector<TableColumn> columns = {{"metric", "NAME"},
                                      {"source", "SOURCE"},
                                      {"class", "CLASS"},
                                      {"interest", "INTEREST", true},
                                      {"step_correlation", "WITH STEP TIME", true}};
  if (all) columns.push_back({"of", "DUPLICATE OF"});
  Table table(std::move(columns));
  for (const Json& series : items(answer, "series")) {
    if (!all && is_folded(series.get_string("class"))) continue;
    const Json& steps = member(series, "step_correlation");
    std::vector<Cell> cells = {
        plain_member(series, "metric"), plain_member(series, "source"),
        plain_member(series, "class"), interest_cell(series, "interest"),
        steps.is_null() ? Cell{steps, "–"} : interest_cell(series, "step_correlation")};
    const Json& of = member(series, "of");
    const auto name = names.find(of.dump());
    if (all) cells.push_back({of, of.is_null() || name == names.end() ? "–" : name->second});
    table.add(std::move(cells));
  }
  if (const std::string folded = folded_text(answer); !all && !folded.empty())
    fmt::print(stderr, "not shown: {}; --all shows them\n", folded);
  if (const std::int64_t left = answer.get_int("left_out"); left > 0)
    fmt::print(stderr, "{} more series were not looked at\n", left);
  return table;
}

Result<Table> list_metrics(const sys::HttpTarget& server, const LsFlags& flags) {
  if (flags.interesting) return list_interesting(server, flags);
  const Json answer = TRY(get_json(server, run_path(flags.run, "/metrics")));
  return list_of(items(answer, "metrics"), {{"name", "NAME"},
                                            {"source", "SOURCE"},
                                            {"unit", "UNIT"},
                                            {"kind", "KIND"},
                                            {"owner", "OWNER"},
                                            {"group", "GROUP"},
                                            {"points", "POINTS", true},
                                            {"last", "LAST", true, statistic},
                                            {"min", "MIN", true, statistic},
                                            {"max", "MAX", true, statistic},
                                            {"mean", "MEAN", true, statistic}});
}

Result<Json> phase_statistics(const sys::HttpTarget& server, const LsFlags& flags) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array().value(flags.run).end_array().end_object();
  return send_json(server, {.method = "POST",
                            .path = "/api/corral/v1/phases/statistics",
                            .body = body,
                            .timeout = std::chrono::minutes(1)});
}

Result<Table> list_phases(const sys::HttpTarget& server, const LsFlags& flags) {
  if (flags.summary) return phase_summary(TRY(phase_statistics(server, flags)));
  const Json answer = TRY(get_json(server, run_path(flags.run, "/phases")));
  return list_of(items(answer, "phases"), {{"id", "ID", true},
                                           {"parent", "PARENT", true},
                                           {"name", "NAME"},
                                           {"type", "TYPE"},
                                           {"kind", "KIND"},
                                           {"lane", "LANE"},
                                           {"start_ns", "START", false, precise_time_cell},
                                           {"end_ns", "END", false, precise_time_cell},
                                           {"duration_s", "DURATION", true, phase_duration}});
}

// The runs in the trash or the archive.
Result<Table> list_hidden(const sys::HttpTarget& server, const LsFlags& flags) {
  const Json answer = TRY(search_runs(server, flags));
  std::vector<Field> fields = {{"id", "ID", false, short_id},
                               {"name", "NAME"},
                               {"experiment", "EXPERIMENT"},
                               {"status", "STATUS", false, state_cell},
                               {"start_ns", "STARTED", false, time_cell},
                               {"duration_s", "DURATION", true, duration_cell}};
  if (flags.what == "trash")
    fields.push_back({"trashed_ns", "IN THE TRASH SINCE", false, time_cell});
  return list_of(items(answer, "runs"), fields);
}

struct List {
  std::string_view name;
  bool of_a_run;
  Query query;
};
constexpr std::array kLists = {List{"experiments", false, list_experiments},
                               List{"workloads", false, list_workloads},
                               List{"plans", false, list_plans},
                               List{"runs", false, list_runs},
                               List{"trash", false, list_hidden},
                               List{"archive", false, list_hidden},
                               List{"metrics", true, list_metrics},
                               List{"phases", true, list_phases}};

Result<const List*> find_list(const LsFlags& flags) {
  const auto* found = std::ranges::find(kLists, flags.what, &List::name);
  if (found == kLists.end()) {
    std::vector<std::string_view> names(kLists.size());
    std::ranges::transform(kLists, names.begin(), &List::name);
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' cannot be listed, did you mean '{}'? There are: experiments, "
                            "workloads, plans, runs, trash, archive, metrics RUN, phases RUN",
                            flags.what, nearest_name(flags.what, names, std::string::npos)));
  }
  if (found->of_a_run && flags.run.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("{} of which run? corral ls {} RUN, as in corral ls {} @1", flags.what,
                            flags.what, flags.what));
  if (!found->of_a_run && !flags.run.empty())
    return fail(Code::kInvalidArgument, fmt::format("unexpected argument '{}'", flags.run));
  if (flags.summary && found->query != list_phases)
    return fail(Code::kInvalidArgument, "--summary is of phases: corral ls phases RUN --summary");
  if (flags.interesting && found->query != list_metrics)
    return fail(Code::kInvalidArgument,
                "--interesting is of metrics: corral ls metrics RUN --interesting");
  if (flags.all && !flags.interesting)
    return fail(Code::kInvalidArgument, "--all needs --interesting");
  if ((flags.watch || !flags.metrics.empty()) && found->query != list_runs)
    return fail(Code::kInvalidArgument, "--watch and --metric are of runs: corral ls runs");
  return found;
}

// Shows the list anew in the same place until Ctrl-C.
Result<int> watch_list(LsFlags flags, Query query) {
  if (::isatty(STDOUT_FILENO) == 0)
    return fail(Code::kInvalidArgument,
                "--watch needs a terminal; corral watch prints a line for each change");
  flags.format = "table";
  for (;;) {
    const sys::HttpTarget server = TRY(connect(flags.destination));
    const Table table = TRY(query(server, flags));
    const std::string text =
        table.empty() ? "no runs yet\n" : table.print("table", takes_colours(STDOUT_FILENO));
    // The screen's last line is the cursor's; the terminal cuts what is wider than the screen.
    winsize screen{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) == 0 && screen.ws_row > 1;
    const std::size_t rows = known ? screen.ws_row - 1U : std::string::npos;
    std::size_t end = 0;
    for (std::size_t row = 0; row < rows && end < text.size(); ++row)
      end = text.find('\n', end) + 1;
    fmt::print("\x1b[H\x1b[2J\x1b[?7l{}\x1b[?7h", text.substr(0, end));
    std::fflush(stdout);
    sys::system_clock().sleep_until(sys::boot_now() + kWatchPause);
  }
}

Result<int> list_objects(const LsFlags& flags) {
  const List* chosen = TRY(find_list(flags));
  if (flags.watch) return watch_list(flags, chosen->query);
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const Table table = TRY(chosen->query(server, flags));
  if (table.empty() && flags.format == "table") {
    const bool hidden = chosen->query == list_hidden;
    fmt::print(
        stderr, "{}\n",
        hidden ? fmt::format("the {} is empty", flags.what) : fmt::format("no {} yet", flags.what));
  } else {
    fmt::print("{}", table.print(flags.format, takes_colours(STDOUT_FILENO)));
  }
  return kDone;
}

}  // namespace

int ls_command(std::span<char* const> args) {
  LsFlags flags;
  Arguments arguments(
      "ls",
      "Lists experiments, workloads with who shared what, plans, runs, the trash, the archive, or "
      "the metrics and phases of a run.",
      kLsExamples);
  arguments.positional("what", flags.what,
                       "experiments, workloads, plans, runs, trash, archive, metrics or phases",
                       false);
  arguments.positional("run", flags.run, kRunHelp, false);
  arguments.text("experiment", flags.experiment, "list only this experiment (name or id)");
  arguments.text("limit", flags.limit, "for runs: at most this many (default: 100)");
  arguments.texts("metric", flags.metrics, "for runs: a column with its last value; repeatable");
  arguments.flag("watch", flags.watch, "for runs: show them anew every 2 s, until Ctrl-C");
  arguments.choice("format", flags.format, {"table", "json", "csv"},
                   "output format (default: table)");
  arguments.flag("summary", flags.summary,
                 "for phases: number, time and share of the run, by name and parent");
  arguments.flag("interesting", flags.interesting,
                 "for metrics: by class and interest, those worth looking at first");
  arguments.flag("all", flags.all, "with --interesting: also constants and duplicates");
  arguments.never_empty("metric");
  for (const char* name : {"summary", "interesting", "all", "watch", "metric"})
    arguments.as_flag_only(name);
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.what.empty()) {
    fmt::print(
        stderr,
        "corral ls: expected experiments, workloads, plans, runs, trash, archive, metrics RUN "
        "or phases RUN\n");
    return kMisuse;
  }
  return finish("ls", list_objects(flags));
}

}  // namespace corral::cli
