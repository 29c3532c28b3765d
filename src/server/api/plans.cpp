// Plans: the reports of schedulers, for the page and `corral ls plans`.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/ids.h"
#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "server/core/unseen.h"
#include "store/tables/plans.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kNameBytes = 4096;
constexpr std::size_t kStateBytes = 32;
constexpr std::size_t kMostTail = 100;         // lines
constexpr std::size_t kMostExperiments = 100;  // named in the summary

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kStateBytes &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

std::string needed_text(RequestFields& fields, std::string_view name) {
  std::string text = fields.text(name).value_or("");
  if (text.empty() || text.size() > kNameBytes)
    fields.wrong(name, fmt::format("a text of 1 to {} bytes", kNameBytes));
  return text;
}

// There, but possibly empty.
std::string given_text(RequestFields& fields, std::string_view name) {
  const auto text = fields.text(name);
  if (!text || text->size() > kNameBytes)
    fields.wrong(name, fmt::format("a text of at most {} bytes", kNameBytes));
  return text.value_or("");
}

void check_run_id(RequestFields& fields) {
  const auto id = fields.text("run");
  if (id && !id->empty() && !RunId::parse(*id))
    fields.wrong("run", "a run's id of 32 hex digits, or empty");
}

void check_tail(RequestFields& fields, const Json& run) {
  const Json* tail = run.find("tail");
  if (tail == nullptr || tail->is_null()) return;
  const Json::Array* lines = tail->as_array();
  const bool good =
      lines != nullptr && lines->size() <= kMostTail &&
      std::ranges::all_of(*lines, [](const Json& line) { return line.as_string() != nullptr; });
  if (!good) fields.wrong("tail", fmt::format("an array of at most {} texts", kMostTail));
}

// The parts of the runs that a summary needs.
struct Totals {
  std::map<std::string, std::int64_t> states;
  std::set<std::string> experiments;
  std::set<std::string> spaces;  // in which an experiment may lie
  std::set<std::pair<std::string, std::string>> workloads;
  std::int64_t runs = 0;
};

// The first thing that is wrong with a run, if anything is.
std::optional<RequestError> add_run(std::string_view text, const Json& run, Totals& totals) {
  RequestFields fields(text, run, fmt::format("runs[{}].", totals.runs));
  if (run.as_object() == nullptr) {
    return RequestError{
        {Code::kInvalidArgument, fmt::format("runs[{}] must be an object", totals.runs)},
        fmt::format("runs[{}]", totals.runs),
        std::nullopt};
  }
  needed_text(fields, "key");
  std::string experiment = given_text(fields, "experiment");
  std::string workload = given_text(fields, "workload");
  const std::string state = fields.text("state").value_or("");
  if (!is_word(state)) fields.wrong("state", "a word such as waiting, running or finished");
  for (const std::string_view name :
       {"name", "letter", "collocation", "devices", "model", "reason"})
    fields.text(name);
  for (const std::string_view name : {"line", "repetition", "turn"})
    fields.integer(name, "an integer");
  check_run_id(fields);
  check_tail(fields, run);
  ++totals.runs;
  ++totals.states[state];
  if (const std::size_t end = experiment.find('/'); end != experiment.npos)
    totals.spaces.insert(experiment.substr(0, end));
  totals.experiments.insert(experiment);
  totals.workloads.emplace(std::move(experiment), std::move(workload));
  return fields.error();
}

void write_totals(JsonWriter& json, const Totals& totals) {
  json.member("runs", totals.runs);
  json.member("workloads", static_cast<std::int64_t>(totals.workloads.size()));
  json.key("counts").begin_object();
  for (const auto& [state, count] : totals.states) json.member(state, count);
  json.end_object().key("experiments").begin_array();
  std::size_t named = 0;
  for (const std::string& experiment : totals.experiments) {
    if (named++ < kMostExperiments) json.value(experiment);
  }
  json.end_array().key("spaces").begin_array();
  for (const std::string& space : totals.spaces) json.value(space);
  json.end_array();
}

}  // namespace

Parsed<std::string> parse_plan(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  const std::string file = needed_text(fields, "file");
  const std::string host = needed_text(fields, "host");
  const auto state = fields.choice<std::string_view>("state", {{"running", "running"},
                                                               {"finished", "finished"},
                                                               {"failed", "failed"},
                                                               {"interrupted", "interrupted"}});
  if (!state) fields.wrong("state", "running, finished, failed or interrupted");
  const auto updated = fields.integer("updated_ns", "nanoseconds of UTC");
  if (!updated) fields.wrong("updated_ns", "nanoseconds of UTC");
  const std::string message = fields.text("message").value_or("");
  const Json* list = json.find("runs");
  const Json::Array* runs = list == nullptr ? nullptr : list->as_array();
  if (runs == nullptr || runs->size() > kMostPlanRuns)
    fields.wrong("runs", fmt::format("an array of at most {} objects", kMostPlanRuns));
  if (fields.error()) return tl::unexpected(*fields.error());
  Totals totals;
  for (const Json& run : *runs) {
    if (auto error = add_run(text, run, totals)) return tl::unexpected(*std::move(error));
  }
  std::string summary;
  JsonWriter writer(summary);
  writer.begin_object().member("file", file).member("host", host).member("state", *state);
  write_integer(writer, "updated_ns", *updated);
  writer.member("message", message);
  write_totals(writer, totals);
  writer.end_object();
  return summary;
}

namespace {

namespace page = store::page;

constexpr std::size_t kIdDigits = 32;

bool is_plan_id(std::string_view id) {
  return id.size() == kIdDigits && id.find_first_not_of("0123456789abcdef") == id.npos;
}

tl::unexpected<Error> no_plan(std::string_view id) {
  return fail(Code::kNotFound, fmt::format("there is no plan {}", to_utf8(id)));
}

// The scheduler's document, behind what the server knows.
void write_plan(JsonWriter& json, const page::PlanSummary& plan) {
  json.begin_object().member("id", plan.id);
  write_time(json, "received_ns", plan.received);
  if (const auto summary = Json::parse(plan.summary); summary && summary->as_object() != nullptr) {
    for (const auto& [name, value] : *summary->as_object()) json.member(name, value);
  }
  json.end_object();
}

// Names of experiments of a plan's runs; or of their spaces, with a '/'. Plans of before there were
// spaces name their experiments, at most kMostExperiments of them.
std::vector<std::string> names_in(const std::string& summary) {
  std::vector<std::string> names;
  const auto json = Json::parse(summary);
  for (const std::string_view member : {"spaces", "experiments"}) {
    const Json* list = json ? json->find(member) : nullptr;
    if (list == nullptr || list->as_array() == nullptr) continue;
    for (const Json& one : *list->as_array())
      if (const std::string* name = one.as_string())
        names.push_back(member == "spaces" ? *name + '/' : *name);
  }
  return names;
}

// If it has no run in a hidden space.
Result<> check_plan(const store::Access& access, const std::string& summary) {
  if (access.sees_all()) return {};
  for (const std::string& name : names_in(summary)) TRY(check_name(access, name));
  return {};
}

Parsed<page::PlanDocument> read_plan(const Request& request) {
  const std::string_view id = request.param("plan");
  if (!is_plan_id(id))
    return fail_about("plan", Code::kInvalidArgument, "a plan's id has 32 lower-case hex digits");
  if (request.body.size() > page::kMostPlanBytes)
    return fail(Code::kTooLarge, "a plan's document has at most 8 MiB");
  auto summary = TRY_PARSED(parse_plan(request.body));
  return page::PlanDocument{
      .id = std::string(id), .summary = std::move(summary), .document = request.body};
}

Result<std::optional<std::string>> summary_of(const store::Reader& reader, std::string_view id) {
  return in_snapshot(reader,
                     [&](store::Reading& reading) { return page::plan_summary(reading, id); });
}

}  // namespace

Result<> check_known_plan(const store::Reader& reader, std::string_view id) {
  if (reader.access().sees_all()) return {};
  const auto hidden = TRY(in_snapshot(reader, page::plans_of_hidden_runs));
  const auto summary = TRY(summary_of(reader, id));
  const bool seen = !summary || check_plan(reader.access(), *summary).has_value();
  if (!seen || hidden.contains(std::string(id))) return no_plan(id);
  return {};
}

bool sees_plan(const store::Reader& reader, const std::string& id) {
  const auto hidden = in_snapshot(reader, page::plans_of_hidden_runs);
  const auto summary = summary_of(reader, id);
  return hidden && summary && *summary && !hidden->contains(id) &&
         check_plan(reader.access(), **summary);
}

Answer plans(const Request&, Context& context) {
  auto all = TRY(in_snapshot(context.reader, page::plans));
  const auto hidden = TRY(in_snapshot(context.reader, page::plans_of_hidden_runs));
  std::erase_if(all, [&](const page::PlanSummary& plan) {
    return hidden.contains(plan.id) || !check_plan(context.reader.access(), plan.summary);
  });
  return array_response("plans", all, write_plan);
}

Answer plan(const Request& request, Context& context) {
  const std::string_view id = request.param("plan");
  TRY(check_known_plan(context.reader, id));
  auto document = TRY(in_snapshot(
      context.reader, [&](store::Reading& reading) { return page::plan_document(reading, id); }));
  if (!document) return no_plan(id);
  return json_response(*std::move(document));
}

Answer save_plan(const Request& request, Context& context) {
  const page::PlanDocument plan = TRY_PARSED(read_plan(request));
  TRY(check_known_plan(context.reader, plan.id));
  TRY(check_plan(context.reader.access(), plan.summary));
  const UtcTime now = sys::utc_now();
  TRY(context.store.change(
      [&](store::Writing& writing) { return page::save_plan(writing, plan, now); }));
  context.events.note_plan(plan.id);
  return object_response([&](JsonWriter& json) {
    json.member("id", plan.id);
    write_time(json, "received_ns", now);
  });
}

Answer delete_plan(const Request& request, Context& context) {
  const std::string id(request.param("plan"));
  TRY(check_known_plan(context.reader, id));
  const auto summary = TRY(summary_of(context.reader, id));
  const bool deleted = TRY(commit(
      context.store, [&](store::Writing& writing) { return page::delete_plan(writing, id); }));
  if (!deleted) return no_plan(id);
  context.events.note_removed_plan(id, names_in(summary.value_or("")));
  return object_response([&](JsonWriter& json) { json.member("id", id); });
}

}  // namespace corral::server::api
