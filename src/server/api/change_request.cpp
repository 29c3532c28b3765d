#include "server/api/change_request.h"

#include <fmt/core.h>

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

}  // namespace corral::server::api
