// The metrics that changed in a window.
#include "analyze/changes.h"
#include "server/api/change_reference.h"
#include "server/api/change_request.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

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
