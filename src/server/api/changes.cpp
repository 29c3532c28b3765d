// POST /changes: the metrics that changed in a window.
#include <fmt/core.h>

#include <map>
#include <tuple>

#include "analyze/changes.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/tables/phases.h"

namespace corral::server::api {
namespace {

using query::GridAxis;

struct WindowNames {
  std::string_view from, to, unit;
};
constexpr WindowNames kTimeNames{.from = "from_ns", .to = "to_ns", .unit = "nanoseconds"};
constexpr WindowNames kStepNames{.from = "from_step", .to = "to_step", .unit = "steps"};

const WindowNames& window_names(GridAxis axis) {
  return axis == GridAxis::kTime ? kTimeNames : kStepNames;
}

// Both ends, which must be there.
analyze::ChangeWindow read_window(RequestFields& fields, GridAxis axis) {
  const WindowNames& names = window_names(axis);
  const auto from = fields.integer(names.from, names.unit);
  const auto to = fields.integer(names.to, names.unit);
  if (!from) fields.wrong(names.from, fmt::format("given, in {}", names.unit));
  if (!to) fields.wrong(names.to, fmt::format("given, in {}", names.unit));
  if (from && to && *from >= *to) fields.wrong(names.to, fmt::format("later than {}", names.from));
  return {.from = from.value_or(0), .to = to.value_or(1)};
}

analyze::Baseline read_baseline(RequestFields& fields, GridAxis axis) {
  fields.only({"series", "against", window_names(axis).from, window_names(axis).to});
  return {.series = fields.series_id("series"),
          .against = fields.series_id("against"),
          .window = read_window(fields, axis)};
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
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  ChangesQuestion question;
  analyze::ChangesRequest& request = question.request;
  request.axis =
      fields.choice<GridAxis>("axis", {{"time", GridAxis::kTime}, {"step", GridAxis::kStep}})
          .value_or(GridAxis::kTime);
  const WindowNames& names = window_names(request.axis);
  fields.only({"series", "origins_ns", "axis", names.from, names.to, "against", "baseline",
               "reference", "mode"});
  request.series = fields.series("series", 1, analyze::kMaxChangeSeries);
  if (fields.has("origins_ns") && request.axis == GridAxis::kStep)
    fields.wrong("origins_ns", "absent on the axis of steps");
  else if (fields.has("origins_ns"))
    request.origins =
        fields.integers("origins_ns", request.series.size(), "one for each series, or absent");
  request.window = read_window(fields, request.axis);
  fields.nested("against", [&](RequestFields& one) {
    one.only({names.from, names.to});
    request.against = read_window(one, request.axis);
  });
  if (fields.has("baseline")) {
    fields.each("baseline", analyze::kMaxChangeSeries, [&](RequestFields& one) {
      request.baseline.push_back(read_baseline(one, request.axis));
    });
  }
  fields.nested("reference", [&](RequestFields& one) {
    question.reference = read_reference(one, request.axis);
  });
  if (question.reference && !request.baseline.empty())
    fields.wrong("reference", "absent where there is a baseline");
  request.mode = read_mode(fields);
  return fields.finish(std::move(question));
}

namespace {

// The parts of a series that make it the counterpart of another run's.
using Identity = std::tuple<std::string, std::string, metric::Kind, std::string>;

Identity identity(const store::Series& series) {
  return {series.name, series.source, series.kind, series.unit};
}

Result<analyze::ChangeWindow> find_window(const store::Reader& store, RunId run,
                                          const ChangeReference& reference) {
  const auto found = TRY(in_snapshot(store, [&](store::Reading& reading) {
    return store::page::nth_phase(reading, run, reference.phase, reference.index);
  }));
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
    out.window = TRY(find_window(store, out.run, reference));
  std::map<Identity, SeriesId> others;
  for (const store::Series& series : TRY(store.series_of(out.run)))
    others.emplace(identity(series), series.id);
  std::map<std::int64_t, Identity> wanted;
  for (const store::Series& series : TRY(store.series(request.series)))
    wanted.emplace(series.id.value, identity(series));
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
  json.member("values", change.means ? "means" : "points");
  write_text(json, "reason", change.lost ? "points are missing that were damaged" : "");
  json.end_object();
}

}  // namespace

Answer changes(const Request& request, Context& context) {
  ChangesQuestion wanted = TRY_PARSED(parse_changes_request(request.body));
  analyze::ChangesRequest& asked = wanted.request;
  std::optional<FoundReference> reference;
  if (wanted.reference)
    reference =
        TRY_PARSED(about("reference", apply_reference(context.reader, *wanted.reference, asked)));
  const analyze::Changes found = TRY(analyze::find_changes(context.reader, asked));
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  write_window(json, "window", asked.window, asked.axis);
  if (reference) {
    write_reference(json, wanted, *reference);
  } else {
    const auto against = asked.against.value_or(analyze::window_before(asked.window));
    write_window(json, "against", against, asked.axis);
  }
  write_array(json, "changes", found.changes, write_change);
  json.member("flat", static_cast<std::int64_t>(found.flat));
  json.member("too_few", static_cast<std::int64_t>(found.too_few)).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
