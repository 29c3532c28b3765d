// POST /compare: groups of runs compared with the first one (docs/compare.md).
// POST /history: how the value of each group changed from run to run (docs/history.md).
// POST /differences: values of runs beside those of a baseline (docs/api.md).
#include "analyze/compare/compare.h"
#include "analyze/compare/baseline.h"
#include "analyze/compare/run_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/requests.h"
#include "server/api/run_group.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::ComparedGroup;
using analyze::ComparedValue;
using analyze::Comparison;
using analyze::GroupDifference;

constexpr std::size_t kMostName = 1000;  // bytes
constexpr std::string_view kStepTime = "step_time", kDuration = "duration";

ComparedValue read_value(RequestFields& fields) {
  ComparedValue value;
  const std::string name = fields.text("value", kMostName);
  if (fields.has("target")) {
    const auto target = analyze::parse_target(fields.text("target", kMostName));
    if (!target) fields.wrong("target", "a metric, >=, >, <= or <, and a number");
    if (fields.has("value") || fields.has("of"))
      fields.wrong("target", "given without value and of");
    value.kind = ComparedValue::Kind::kTarget;
    value.target = target.value_or(analyze::Target());
    return value;
  }
  using Of = ComparedValue::Of;
  const auto of = fields.choice<Of>(
      "of", {{"mean", Of::kMean}, {"min", Of::kLeast}, {"max", Of::kMost}, {"last", Of::kLast}});
  value.of = of.value_or(Of::kMean);
  if (name == kDuration) value.kind = ComparedValue::Kind::kDuration;
  if (!name.empty() && name != kDuration && name != kStepTime) {
    value.kind = ComparedValue::Kind::kMetric;
    value.metric = name;
  } else if (of) {
    fields.wrong("of", "absent where no metric is compared");
  }
  return value;
}

// ---- the answer

void write_number(JsonWriter& json, std::string_view name, double value) {
  write_optional(json, name, std::isfinite(value) ? std::optional(value) : std::nullopt);
}

void write_compared_part(JsonWriter& json, const analyze::TimePerStep& part) {
  json.begin_object().member("name", part.name);
  write_text(json, "type", part.type);
  json.member("seconds", part.seconds).member("apart", part.apart).end_object();
}

void write_unit(JsonWriter& json, const analyze::UnitValue& unit) {
  json.begin_object().member("name", unit.name);
  write_array(json, "runs", unit.runs, [](JsonWriter& out, const analyze::UnitRun& run) {
    out.begin_object().member("id", run.id.hex()).member("name", run.name);
    out.member("host", run.host).member("status", store::status_name(run.status));
    write_text(out, "not_steady", run.unsteady);
    write_text(out, "not_captured", run.uncaptured);
    out.member("left_out", run.left_out);
    out.end_object();
  });
  write_time(json, "start_ns", unit.start);
  write_optional(json, "value", unit.value);
  write_text(json, "reason", unit.reason);
  write_optional(json, "missed_s", unit.missed_s);
  json.member("unit", unit.unit);
  write_time(json, "from_ns", unit.value ? std::optional(unit.window.from) : std::nullopt);
  write_time(json, "to_ns", unit.value ? std::optional(unit.window.to) : std::nullopt);
  json.member("beside", static_cast<std::int64_t>(unit.beside));
  write_optional(json, "stall", unit.stall > 0 ? std::optional(unit.stall) : std::nullopt);
  write_array(json, "parts", unit.parts, write_compared_part);
  json.end_object();
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  write_array(json, name, texts, [](JsonWriter& out, const std::string& text) { out.value(text); });
}

void write_compared_group(JsonWriter& json, const ComparedGroup& group) {
  json.begin_object().member("name", group.name);
  json.member("n", static_cast<std::int64_t>(group.counted));
  json.member("missed", static_cast<std::int64_t>(group.missed));
  write_optional(json, "mean", group.mean);
  write_optional(json, "min", group.least);
  write_optional(json, "max", group.most);
  json.member("unit", group.unit);
  write_texts(json, "warnings", group.warnings);
  write_array(json, "units", group.units, write_unit);
  json.end_object();
}

void write_set_up(JsonWriter& json, const std::vector<analyze::SetUpDifference>& set_up) {
  write_array(json, "set_up", set_up, [](JsonWriter& out, const auto& one) {
    out.begin_object().member("part", one.part).member("key", one.key);
    out.member("a", one.a).member("b", one.b).end_object();
  });
}

void write_target(JsonWriter& json, const std::optional<analyze::TargetDifference>& target) {
  json.key("target");
  if (!target) {
    json.null();
    return;
  }
  const auto count = [&](std::string_view name, std::size_t number) {
    json.member(name, static_cast<std::int64_t>(number));
  };
  json.begin_object();
  count("reached_a", target->reached_a);
  count("reached_b", target->reached_b);
  count("n_a", target->a);
  count("n_b", target->b);
  json.member("mean_a_s", target->mean_a_s).member("mean_b_s", target->mean_b_s);
  json.member("budget_s", target->budget_s).end_object();
}

void write_difference(JsonWriter& json, const GroupDifference& found, const Comparison& all) {
  json.begin_object().member("a", all.groups.front().name);
  json.member("b", all.groups[found.b].name);
  json.member("verdict", analyze::verdict_name(found.verdict)).member("text", found.text);
  write_optional(
      json, "pairs",
      found.ratio.paired ? std::optional(static_cast<double>(found.ratio.a)) : std::nullopt);
  write_number(json, "ratio", found.interval.mean);
  write_number(json, "low", found.interval.low);
  write_number(json, "high", found.interval.high);
  json.member("p_different", found.adjusted.different);
  json.member("p_equivalent", found.adjusted.equivalent);
  write_integer(json, "more",
                found.more ? std::optional(static_cast<std::int64_t>(*found.more)) : std::nullopt);
  write_target(json, found.target);
  write_texts(json, "warnings", found.warnings);
  write_array(json, "parts", found.parts, [](JsonWriter& out, const auto& part) {
    out.begin_object().member("name", part.name);
    write_text(out, "type", part.type);
    out.member("a_s", part.a_s).member("b_s", part.b_s).member("apart", part.apart).end_object();
  });
  write_array(json, "metrics", found.means, [](JsonWriter& out, const auto& mean) {
    out.begin_object().member("metric", mean.metric);
    write_text(out, "source", mean.source);
    out.member("a", mean.a).member("b", mean.b).member("unit", mean.unit).end_object();
  });
  write_set_up(json, found.set_up);
  json.member("set_up_left_out", static_cast<std::int64_t>(found.set_up_left_out)).end_object();
}

Response write_comparison(const Comparison& all) {
  return object_response([&](JsonWriter& json) {
    json.member("value", all.value).member("less_is_better", all.less_is_better);
    write_number(json, "margin", all.margin);
    json.member("margin_planned", all.planned);
    json.member("confidence", all.confidence);
    json.member("family", static_cast<std::int64_t>(all.family));
    write_array(json, "groups", all.groups, write_compared_group);
    write_array(
        json, "differences", all.differences,
        [&](JsonWriter& out, const GroupDifference& found) { write_difference(out, found, all); });
    write_array(json, "set_up", all.set_up, [](JsonWriter& out, const analyze::CommonSetUp& one) {
      out.begin_object().member("part", one.part).member("key", one.key);
      out.member("text", one.text).end_object();
    });
  });
}

// ---- the answer of a history

void write_history_unit(JsonWriter& json, const analyze::HistoryUnit& unit) {
  json.begin_object().member("name", unit.value.name);
  write_array(json, "runs", unit.value.runs,
              [](JsonWriter& out, const analyze::UnitRun& run) { out.value(run.id.hex()); });
  write_text(json, "commit", unit.commit);
  write_time(json, "start_ns", unit.value.start);
  write_optional(json, "value", unit.value.value);
  write_optional(json, "measured", unit.value.measured);
  write_text(json, "reason", unit.value.reason);
  json.member("outlier", unit.outlier).member("beyond", unit.beyond);
  const auto segment = static_cast<std::int64_t>(unit.segment);
  write_optional(json, "segment", unit.value.value ? std::optional(segment) : std::nullopt);
  json.end_object();
}

void write_history_change(JsonWriter& json, const analyze::HistoryChange& change,
                          const analyze::RunHistory& history) {
  const auto unit = [&](std::size_t at) { return static_cast<std::int64_t>(history.counted[at]); };
  json.begin_object().member("segment", static_cast<std::int64_t>(change.after));
  json.member("last_before", unit(change.last_before));
  json.member("first_after", unit(change.first_after));
  json.member("text", change.text).member("confirmed", change.confirmed);
  write_optional(json, "worse", change.worse);
  write_number(json, "ratio", change.ratio.mean);
  write_number(json, "low", change.ratio.low);
  write_number(json, "high", change.ratio.high);
  write_set_up(json, change.set_up);
  json.end_object();
}

void write_run_history(JsonWriter& json, const analyze::RunHistory& history) {
  json.begin_object().member("name", history.name);
  write_text(json, "unit", history.unit);
  write_array(json, "units", history.units, write_history_unit);
  write_array(json, "segments", history.segments, [&](JsonWriter& out, const auto& segment) {
    const auto unit = [&](std::size_t at) {
      return static_cast<std::int64_t>(history.counted[at]);
    };
    out.begin_object().member("first", unit(segment.begin));
    out.member("last", unit(segment.end - 1));
    out.member("n", static_cast<std::int64_t>(segment.end - segment.begin));
    out.member("mean", segment.mean);
    write_number(out, "low", segment.low);
    write_number(out, "high", segment.high);
    out.end_object();
  });
  write_array(json, "changes", history.changes, [&](JsonWriter& out, const auto& change) {
    write_history_change(out, change, history);
  });
  json.key("newest");
  if (history.newest) {
    write_history_change(json, *history.newest, history);
  } else {
    json.null();
  }
  json.end_object();
}

// ---- the answer of differences

void write_baseline(JsonWriter& json, const analyze::BaselineValue& found,
                    const ComparedValue& value) {
  json.begin_object().member("value", analyze::describe(value));
  write_text(json, "unit", found.unit);
  json.member("n", static_cast<std::int64_t>(found.counted));
  write_optional(json, "mean", found.mean);
  write_number(json, "low", found.low);
  write_number(json, "high", found.high);
  write_text(json, "reason", found.reason);
  json.end_object();
}

void write_from_baseline(JsonWriter& json, const analyze::FromBaseline& found) {
  json.begin_object();
  write_optional(json, "value", found.value);
  write_optional(json, "ratio", found.ratio);
  json.member("outside", found.outside);
  write_text(json, "reason", found.reason);
  json.end_object();
}

// ---- the groups

Result<std::vector<RunId>> find_filtered(const store::Reader& store,
                                         const std::vector<mlflow::Comparison>& filter) {
  store::tracking::RunQuestion question;
  question.filter = filter;
  question.paging = {.offset = 0, .limit = analyze::kMostComparedRuns + 1};
  const auto found = TRY(in_snapshot(store, [&](store::Reading& reading) {
    return store::tracking::find_runs(reading, question);
  }));
  std::vector<RunId> runs;
  for (const store::Run& run : found.runs) runs.push_back(run.id);
  return runs;
}

// "7" is called "7#2" when it runs for the second time.
bool is_repetition(std::string_view workload, std::string_view name) {
  if (!workload.starts_with(name)) return false;
  workload.remove_prefix(name.size());
  return workload.empty() || (workload.front() == '#' && parse_int(workload.substr(1)));
}

// Those of all repetitions.
Result<std::vector<RunId>> find_workload(const store::Reader& store, const std::string& name) {
  std::vector<RunId> runs;
  std::set<ExperimentId> experiments;
  for (const store::Workload& workload : TRY(store.workloads(std::nullopt))) {
    if (!is_repetition(workload.name, name)) continue;
    runs.insert(runs.end(), workload.runs.begin(), workload.runs.end());
    experiments.insert(workload.experiment);
  }
  if (experiments.size() == 1) return runs;
  if (experiments.empty())
    return fail(Code::kNotFound,
                fmt::format("no run, name or workload is called '{}'", printable(name)));
  return fail(Code::kInvalidArgument,
              fmt::format("workloads of {} experiments are called '{}': give a filter",
                          experiments.size(), printable(name)));
}

// Those of the filter that a text is which names nothing.
Result<std::vector<RunId>> find_as_filter(const store::Reader& store, const std::string& text,
                                          const Error& no_name) {
  const auto filter = mlflow::parse_filter(mlflow::SearchKind::kRuns, text);
  if (filter && !filter->empty()) return find_filtered(store, *filter);
  if (filter || text.find_first_of("=<> ") == std::string::npos) return tl::unexpected(no_name);
  return fail(Code::kInvalidArgument,
              fmt::format("{}, and as a filter: {}", no_name.message, filter.error().message));
}

// All runs of this name; else the one run that it is as people write it; else those of the
// workload of this name; else those of the filter that it is.
Result<std::vector<RunId>> find_named(const store::Reader& store, const std::string& name) {
  mlflow::Comparison same;
  same.key = "run_name";
  same.value = name;
  std::vector<RunId> runs = TRY(find_filtered(store, {same}));
  if (!runs.empty()) return runs;
  const auto one = query::select_run(store, name);
  if (one) return std::vector{*one};
  auto workload = find_workload(store, name);
  // A prefix of an id that fits several runs is a clearer error than a workload that is not there.
  const bool unclear = !workload && workload.error().code == Code::kNotFound &&
                       (one.error().code != Code::kNotFound || name.starts_with('@'));
  if (unclear) return tl::unexpected(one.error());
  if (!workload && workload.error().code == Code::kNotFound)
    return find_as_filter(store, name, workload.error());
  return workload;
}

// Each run once.
Result<std::vector<RunId>> find_group(const store::Reader& store,
                                      const CompareQuestion::Group& group) {
  if (!group.named.empty()) return find_named(store, group.named);
  if (group.runs.empty()) return find_filtered(store, group.filter);
  std::vector<RunId> ids;
  for (const std::string& run : group.runs) {
    const RunId id = TRY(query::select_run(store, run));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

// The facts of a run may be large: they are read once it is known that they are not too many.
Result<std::vector<analyze::GroupRuns>> read_groups(const store::Reader& store,
                                                    const CompareQuestion& question,
                                                    const Left& left) {
  std::vector<std::vector<RunId>> ids;
  std::set<RunId> all;
  for (const CompareQuestion::Group& group : question.groups) {
    ids.push_back(TRY(find_group(store, group)));
    all.insert(ids.back().begin(), ids.back().end());
    if (all.size() > analyze::kMostComparedRuns)
      return fail(Code::kTooLarge,
                  fmt::format("more than {} runs cannot be compared", analyze::kMostComparedRuns));
  }
  std::vector<analyze::GroupRuns> groups;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    TRY(analyze::check_waiting(left));
    groups.push_back({.name = question.groups[i].name, .runs = {}});
    for (const RunId id : ids[i]) groups.back().runs.push_back(TRY(read_run(store, id)));
  }
  return groups;
}

// A group for each value, in the order of their first runs' starts.
Result<std::vector<analyze::GroupRuns>> split_groups(std::vector<analyze::GroupRuns> all,
                                                     std::string_view by) {
  std::vector<store::Run> runs;
  for (analyze::GroupRuns& group : all) std::ranges::move(group.runs, std::back_inserter(runs));
  std::ranges::sort(runs, {}, [](const store::Run& run) { return std::pair(run.start, run.id); });
  const auto same = [](const store::Run& a, const store::Run& b) { return a.id == b.id; };
  runs.erase(std::unique(runs.begin(), runs.end(), same), runs.end());
  std::vector<analyze::GroupRuns> groups;
  for (store::Run& run : runs) {
    std::string value = field_of_run(run, by);
    if (value.empty()) value = "not set";
    auto group = std::ranges::find(groups, value, &analyze::GroupRuns::name);
    if (group == groups.end() && groups.size() == kMostComparedGroups)
      return fail(Code::kTooLarge, fmt::format("{} has more than {} values among these runs", by,
                                               kMostComparedGroups));
    if (group == groups.end())
      group = groups.insert(groups.end(), {.name = std::move(value), .runs = {}});
    group->runs.push_back(std::move(run));
  }
  return groups;
}

Answer compare_now(const CompareQuestion& question, const Context& context, const Left& left) {
  std::vector<analyze::GroupRuns> groups = TRY(read_groups(context.reader, question, left));
  if (!question.by.empty()) groups = TRY(split_groups(std::move(groups), question.by));
  const analyze::CompareOptions options{
      .value = question.value, .margin = question.margin, .left = left};
  return write_comparison(TRY(analyze::compare_groups(context.reader, groups, options)));
}

Answer history_now(const HistoryQuestion& question, const Context& context, const Left& left) {
  std::vector<analyze::GroupRuns> groups = TRY(read_groups(context.reader, question.of, left));
  if (!question.of.by.empty()) groups = TRY(split_groups(std::move(groups), question.of.by));
  const double margin = question.of.margin.value_or(
      analyze::planned_margin_of_all(groups).value_or(analyze::kUsualMargin));
  std::vector<analyze::RunHistory> histories;
  for (const analyze::GroupRuns& group : groups) {
    const analyze::HistoryOptions options{.value = question.of.value,
                                          .margin = margin,
                                          .less_is_better = question.less_is_better,
                                          .at_least = question.at_least,
                                          .at_most = question.at_most,
                                          .left = left};
    histories.push_back(TRY(analyze::read_run_history(context.reader, group, options)));
  }
  return object_response([&](JsonWriter& json) {
    json.member("value", analyze::describe(question.of.value)).member("margin", margin);
    write_optional(json, "at_least", question.at_least);
    write_optional(json, "at_most", question.at_most);
    write_array(json, "histories", histories, write_run_history);
  });
}

Answer differences_now(const DifferencesQuestion& question, const Context& context,
                       const Left& left) {
  CompareQuestion groups;
  groups.groups = {question.baseline, {.name = "runs", .runs = question.runs}};
  const auto read = TRY(read_groups(context.reader, groups, left));
  if (read.front().runs.empty()) return fail(Code::kInvalidArgument, "the baseline has no runs");
  const analyze::BaselineAnswer answer =
      TRY(analyze::compare_with_baseline(context.reader, {.baseline = read.front().runs,
                                                          .runs = read.back().runs,
                                                          .values = question.values,
                                                          .left = left}));
  return object_response([&](JsonWriter& json) {
    json.member("baseline", question.baseline.name).key("values").begin_array();
    for (std::size_t i = 0; i < answer.values.size(); ++i)
      write_baseline(json, answer.values[i], question.values[i]);
    json.end_array();
    write_array(json, "runs", answer.runs, [](JsonWriter& out, const analyze::BaselineRow& row) {
      out.begin_object().member("run", row.run.hex());
      write_array(out, "values", row.values, write_from_baseline);
      out.end_object();
    });
  });
}

template <class Question>
Response answer_later(const Context& context, Question question,
                      Answer (*now)(const Question&, const Context&, const Left&)) {
  Response response;
  response.late = [&context, now, question = std::move(question)](const Left& left) -> Response {
    return response_of(now(question, context, left));
  };
  return response;
}

CompareQuestion::Group read_group_fields(RequestFields& fields, std::string_view body) {
  fields.only({"name", "runs", "named", "filter"});
  CompareQuestion::Group group;
  if (int{fields.has("runs")} + int{fields.has("named")} + int{fields.has("filter")} != 1) {
    fields.wrong("runs", "given, or either named or filter instead");
    return group;
  }
  if (fields.has("runs")) group.runs = fields.texts("runs", analyze::kMostComparedRuns, kMostName);
  group.named = fields.text("named", kMostFilterBytes);
  if (fields.has("named") && group.named.empty()) fields.wrong("named", "a text that is not empty");
  const std::string filter =
      fields.has("filter") ? read_run_filter(fields, body, group.filter) : "";
  group.name = fields.text("name", kMostName);
  if (group.name.empty()) group.name = !group.named.empty() ? group.named : filter;
  if (group.name.empty() && !group.runs.empty()) group.name = group.runs.front();
  return group;
}

CompareQuestion read_question(RequestFields& fields, std::string_view text) {
  CompareQuestion question;
  question.value = read_value(fields);
  if (fields.has("margin"))
    question.margin = fields.number("margin", 0, {.low = 1e-6, .high = 0.999999});
  question.by = fields.text("by", kMostName);
  if (!question.by.empty() && !is_run_field(question.by))
    fields.wrong("by", std::string(kRunFields));
  fields.each("groups", kMostComparedGroups,
              [&](RequestFields& one) { question.groups.push_back(read_group_fields(one, text)); });
  return question;
}

}  // namespace

Parsed<CompareQuestion> parse_compare_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"groups", "by", "value", "of", "target", "margin"});
  return fields.finish(read_question(fields, text));
}

Parsed<HistoryQuestion> parse_history_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"groups", "by", "value", "of", "margin", "better", "at_least", "at_most"});
  HistoryQuestion question;
  question.of = read_question(fields, text);
  question.less_is_better = fields.choice<bool>("better", {{"less", true}, {"greater", false}});
  if (question.less_is_better && question.of.value.kind != ComparedValue::Kind::kMetric)
    fields.wrong("better", "absent where no metric is compared");
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const auto& [name, limit] :
       {std::pair("at_least", &question.at_least), std::pair("at_most", &question.at_most)})
    if (fields.has(name)) *limit = fields.number(name, 0, {.low = -kMost, .high = kMost});
  if (question.of.groups.empty()) fields.wrong("groups", "one group or more");
  return fields.finish(std::move(question));
}

Parsed<DifferencesQuestion> parse_differences_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"baseline", "runs", "values"});
  DifferencesQuestion question;
  if (!fields.has("baseline")) fields.wrong("baseline", "a group");
  fields.nested("baseline",
                [&](RequestFields& one) { question.baseline = read_group_fields(one, text); });
  question.runs = fields.texts("runs", analyze::kMostComparedRuns, kMostName);
  fields.each("values", kMostBaselineValues, [&](RequestFields& one) {
    one.only({"value", "of", "target"});
    question.values.push_back(read_value(one));
  });
  return fields.finish(std::move(question));
}

Answer compare(const Request& request, Context& context) {
  return answer_later(context, TRY_PARSED(parse_compare_request(request.body)), compare_now);
}

Answer history(const Request& request, Context& context) {
  return answer_later(context, TRY_PARSED(parse_history_request(request.body)), history_now);
}

Answer differences(const Request& request, Context& context) {
  return answer_later(context, TRY_PARSED(parse_differences_request(request.body)),
                      differences_now);
}

}  // namespace corral::server::api
