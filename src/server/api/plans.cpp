// Plans: the reports of schedulers, for the page and `corral ls plans`.
#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/plan_request.h"
#include "server/api/write.h"
#include "store/tables/plans.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kIdDigits = 32;

bool is_plan_id(std::string_view id) {
  return id.size() == kIdDigits && id.find_first_not_of("0123456789abcdef") == id.npos;
}

Response no_plan(std::string_view id) {
  return error_response({Code::kNotFound, fmt::format("there is no plan {}", to_utf8(id))});
}

// The scheduler's document, behind what the server knows.
void write_plan(JsonWriter& json, const page::PlanSummary& plan) {
  json.begin_object().member("id", plan.id).key("received_ns");
  write_time(json, plan.received);
  if (const auto summary = Json::parse(plan.summary); summary && summary->as_object() != nullptr) {
    for (const auto& [name, value] : *summary->as_object()) json.member(name, value);
  }
  json.end_object();
}

tl::expected<page::PlanDocument, Response> read_plan(const Request& request) {
  const std::string_view id = request.param("plan");
  if (!is_plan_id(id)) {
    return tl::unexpected<Response>(
        error_response({Code::kInvalidArgument, "a plan's id has 32 lower-case hex digits"},
                       {.field = "plan", .position = std::nullopt}));
  }
  if (request.body.size() > page::kMostPlanBytes) {
    return tl::unexpected<Response>(
        error_response({Code::kTooLarge, "a plan's document has at most 8 MiB"}));
  }
  Parsed<std::string> summary = parse_plan(request.body);
  if (!summary) return tl::unexpected<Response>(bad_body(summary.error()));
  return page::PlanDocument{
      .id = std::string(id), .summary = *std::move(summary), .document = request.body};
}

}  // namespace

Response plans(const Request&, Context& context) {
  std::vector<page::PlanSummary> all;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    all = TRY(page::plans(reading));
    return {};
  });
  if (!done) return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("plans").begin_array();
  for (const page::PlanSummary& plan : all) write_plan(json, plan);
  json.end_array().end_object();
  return json_response(std::move(body));
}

Response plan(const Request& request, Context& context) {
  const std::string_view id = request.param("plan");
  std::optional<std::string> document;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    document = TRY(page::plan_document(reading, id));
    return {};
  });
  if (!done) return error_response(done.error());
  return document ? json_response(*std::move(document)) : no_plan(id);
}

Response save_plan(const Request& request, Context& context) {
  const auto plan = read_plan(request);
  if (!plan) return plan.error();
  const UtcTime now = sys::utc_now();
  const auto done = context.store.change(
      [&](store::Writing& writing) -> Result<> { return page::save_plan(writing, *plan, now); });
  if (!done) return error_response(done.error());
  context.events.note_plan(plan->id);
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("id", plan->id).key("received_ns");
  write_time(json, now);
  json.end_object();
  return json_response(std::move(body));
}

Response delete_plan(const Request& request, Context& context) {
  const std::string id(request.param("plan"));
  bool deleted = false;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    deleted = TRY(page::delete_plan(writing, id));
    return {};
  });
  if (!done) return error_response(done.error());
  if (!deleted) return no_plan(id);
  context.events.note_plan(id);
  std::string body;
  JsonWriter(body).begin_object().member("id", id).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
