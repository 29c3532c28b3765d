// POST /changes: the metrics that changed in a window.
#include <fmt/core.h>

#include <map>
#include <tuple>

#include "analyze/changes.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/tables/epoch_phases.h"

namespace corral::server::api {
namespace {

using query::GridAxis;

struct WindowNames {
  std::string_view from, to, unit;
};
constexpr WindowNames kTimeNames{.from = "from_ns", .to = "to_ns", .unit = "nanoseconds"};
constexpr WindowNames kStepNames{.from = "from_step", .to = "to_step", .unit = "steps"};

const WindowNames& names_of(GridAxis axis) {
  return axis == GridAxis::kTime ? kTimeNames : kStepNames;
}

// Both ends, which must be there.
analyze::ChangeWindow read_window(RequestFields& fields, GridAxis axis) {
  const WindowNames& names = names_of(axis);
  const auto from = fields.integer(names.from, names.unit);
  const auto to = fields.integer(names.to, names.unit);
  if (!from) fields.wrong(names.from, fmt::format("given, in {}", names.unit));
  if (!to) fields.wrong(names.to, fmt::format("given, in {}", names.unit));
  if (from && to && *from >= *to) fields.wrong(names.to, fmt::format("later than {}", names.from));
  return {.from = from.value_or(0), .to = to.value_or(1)};
}

SeriesId read_id(RequestFields& fields, std::string_view name) {
  const auto id = fields.integer(name, "a series");
  if (!id) fields.wrong(name, "a series");
  return SeriesId{id.value_or(0)};
}

analyze::Baseline read_baseline(RequestFields& fields, GridAxis axis) {
  fields.only({"series", "against", names_of(axis).from, names_of(axis).to});
  return {.series = read_id(fields, "series"),
          .against = read_id(fields, "against"),
          .window = read_window(fields, axis)};
}

void read_baselines(std::string_view text, RequestFields& fields,
                    analyze::ChangesRequest& request) {
  const Json::Array* all =
      fields.has("baseline") ? fields.objects("baseline", analyze::kMaxChangeSeries) : nullptr;
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    RequestFields one(text, (*all)[i], fmt::format("baseline[{}].", i));
    request.baseline.push_back(read_baseline(one, request.axis));
    if (one.error()) fields.wrong(*one.error());
  }
}

// A phase on the axis of time, none on that of steps.
ChangeReference read_reference(RequestFields& fields, GridAxis axis) {
  fields.only({"run", "phase", "index"});
  const auto run = fields.text("run");
  if (!run || run->empty()) fields.wrong("run", "a run");
  const auto phase = fields.text("phase");
  const bool given = phase && !phase->empty();
  if (axis == GridAxis::kTime && !given) fields.wrong("phase", "the name of a phase");
  if (axis == GridAxis::kStep && given) fields.wrong("phase", "absent on the axis of steps");
  const std::int64_t index =
      fields.has("index") ? fields.count("index", 0, kMostReferencePhases - 1) : 0;
  return {.run = run.value_or(""),
          .phase = phase.value_or(""),
          .index = static_cast<std::size_t>(index)};
}

}  // namespace

Parsed<ChangesQuestion> parse_changes_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  ChangesQuestion question;
  analyze::ChangesRequest& request = question.request;
  request.axis =
      fields.choice<GridAxis>("axis", {{"time", GridAxis::kTime}, {"step", GridAxis::kStep}})
          .value_or(GridAxis::kTime);
  const WindowNames& names = names_of(request.axis);
  fields.only({"series", "origins_ns", "axis", names.from, names.to, "against", "baseline",
               "reference", "mode"});
  request.series = fields.series("series", 1, analyze::kMaxChangeSeries);
  if (fields.has("origins_ns") && request.axis == GridAxis::kStep)
    fields.wrong("origins_ns", "absent on the axis of steps");
  else if (fields.has("origins_ns"))
    request.origins =
        fields.integers("origins_ns", request.series.size(), "one for each series, or absent");
  request.window = read_window(fields, request.axis);
  if (const Json* against = fields.object("against"); against != nullptr) {
    RequestFields one(text, *against, "against.");
    one.only({names.from, names.to});
    request.against = read_window(one, request.axis);
    if (one.error()) fields.wrong(*one.error());
  }
  read_baselines(text, fields, request);
  if (const Json* reference = fields.object("reference"); reference != nullptr) {
    RequestFields one(text, *reference, "reference.");
    question.reference = read_reference(one, request.axis);
    if (one.error()) fields.wrong(*one.error());
    if (!request.baseline.empty()) fields.wrong("reference", "absent where there is a baseline");
  }
  request.mode = read_mode(fields);
  if (fields.error()) return tl::unexpected(*fields.error());
  return question;
}

namespace {

using What = std::tuple<std::string, std::string, metric::Kind, std::string>;

What what_of(const store::Series& series) {
  return {series.name, series.source, series.kind, series.unit};
}

Result<analyze::ChangeWindow> window_of(const store::Reader& store, RunId run,
                                        const ChangeReference& reference) {
  std::optional<store::page::NamedPhase> found;
  const auto read = [&](store::Reading& reading) -> Result<> {
    found = TRY(store::page::nth_phase(reading, run, reference.phase, reference.index));
    return {};
  };
  TRY(store.inspect(read));
  const auto named = [&] {
    return fmt::format("phase {} number {} of run {}", reference.phase, reference.index, run.hex());
  };
  if (!found) return fail(Code::kNotFound, fmt::format("there is no {}", named()));
  if (!found->end) return fail(Code::kConflict, fmt::format("{} has not ended", named()));
  return analyze::ChangeWindow{.from = ns_of(found->start), .to = ns_of(*found->end)};
}

struct FoundReference {
  RunId run;
  analyze::ChangeWindow window;
  std::uint32_t unmatched = 0;  // series of the request that this run has no counterpart of
};

// Puts the counterparts (by name, source, kind and unit) into the request as its baseline and drops
// series without a counterpart. kNotFound: no such run or phase, kConflict: the phase has not
// ended.
Result<FoundReference> apply_reference(const store::Reader& store, const ChangeReference& reference,
                                       analyze::ChangesRequest& request) {
  FoundReference out{.run = TRY(query::select_run(store, reference.run)), .window = request.window};
  if (request.axis == query::GridAxis::kTime)
    out.window = TRY(window_of(store, out.run, reference));
  std::map<What, SeriesId> others;
  for (const store::Series& series : TRY(store.series_of(out.run)))
    others.emplace(what_of(series), series.id);
  std::map<std::int64_t, What> wanted;
  for (const store::Series& series : TRY(store.series(request.series)))
    wanted.emplace(series.id.value, what_of(series));
  std::vector<SeriesId> kept;
  std::vector<std::int64_t> origins;
  for (std::size_t i = 0; i < request.series.size(); ++i) {
    const SeriesId id = request.series[i];
    const auto known = wanted.find(id.value);
    const auto other = known == wanted.end() ? others.end() : others.find(known->second);
    // An unknown series is refused later, with the others.
    if (known != wanted.end() && other == others.end()) {
      ++out.unmatched;
      continue;
    }
    kept.push_back(id);
    if (!request.origins.empty()) origins.push_back(request.origins[i]);
    if (other != others.end())
      request.baseline.push_back({.series = id, .against = other->second, .window = out.window});
  }
  request.series = std::move(kept);
  request.origins = std::move(origins);
  return out;
}

void write_ends(JsonWriter& json, const analyze::ChangeWindow& window, query::GridAxis axis) {
  const bool time = axis == query::GridAxis::kTime;
  json.key(time ? "from_ns" : "from_step").value_string(window.from);
  json.key(time ? "to_ns" : "to_step").value_string(window.to);
}

void write_window(JsonWriter& json, std::string_view name, const analyze::ChangeWindow& window,
                  query::GridAxis axis) {
  json.key(name).begin_object();
  write_ends(json, window, axis);
  json.end_object();
}

void write_reference(JsonWriter& json, const ChangesQuestion& question,
                     const FoundReference& found) {
  json.key("reference").begin_object().member("run", found.run.hex());
  if (!question.reference->phase.empty()) {
    json.member("phase", question.reference->phase);
    json.member("index", static_cast<std::int64_t>(question.reference->index));
  }
  write_ends(json, found.window, question.request.axis);
  json.end_object().member("unmatched", static_cast<std::int64_t>(found.unmatched));
}

void write_moments(JsonWriter& json, std::string_view name, const analyze::SampleMoments& moments) {
  json.key(name).begin_object().member("mean", moments.mean);
  json.member("deviation", moments.deviation);
  json.member("n", static_cast<std::int64_t>(moments.n)).end_object();
}

void write_change(JsonWriter& json, const analyze::Change& change) {
  const analyze::SampleDifference& found = change.difference;
  json.begin_object().member("series", change.series.value).member("rate", change.rate);
  json.member("ks", found.ks).member("effect", found.cohens_d);
  json.member("delta", found.cliffs_delta);
  json.member("direction", analyze::direction_name(found.direction));
  write_moments(json, "before", found.before);
  write_moments(json, "after", found.after);
  json.member("values", change.means ? "means" : "points").key("reason");
  if (change.lost) {
    json.value("points are missing that were damaged");
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

Response changes(const Request& request, Context& context) {
  auto wanted = parse_changes_request(request.body);
  if (!wanted) return bad_body(wanted.error());
  analyze::ChangesRequest& asked = wanted->request;
  std::optional<FoundReference> reference;
  if (wanted->reference) {
    Result<FoundReference> found = apply_reference(context.reader, *wanted->reference, asked);
    if (!found)
      return error_response(found.error(), {.field = "reference", .position = std::nullopt});
    reference = *found;
  }
  const Result<analyze::Changes> found = analyze::find_changes(context.reader, asked);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  write_window(json, "window", asked.window, asked.axis);
  if (reference) {
    write_reference(json, *wanted, *reference);
  } else {
    const auto against = asked.against.value_or(analyze::window_before(asked.window));
    write_window(json, "against", against, asked.axis);
  }
  json.key("changes").begin_array();
  for (const analyze::Change& change : found->changes) write_change(json, change);
  json.end_array().member("flat", static_cast<std::int64_t>(found->flat));
  json.member("too_few", static_cast<std::int64_t>(found->too_few)).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
