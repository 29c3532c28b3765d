// States of the page under a short id, for links.
#include <fmt/core.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/views.h"
#include "sys/clock.h"

namespace corral::server::api {

Response save_view(const Request& request, Context& context) {
  const Parsed<Json> json = parse_body(request.body);
  if (!json) return bad_body(json.error());
  RequestFields fields(request.body, *json);
  fields.only({"state"});
  const std::string state = read_state(fields);
  if (fields.error()) return bad_body(*fields.error());
  std::string id;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    id = TRY(store::page::save_view(writing, state, sys::utc_now()));
    return {};
  });
  if (!done) return error_response(done.error());
  std::string body;
  JsonWriter(body).begin_object().member("id", id).end_object();
  return json_response(std::move(body));
}

Response view(const Request& request, Context& context) {
  const std::string_view id = request.param("view");
  std::optional<store::page::View> found;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    found = TRY(store::page::view(reading, id));
    return {};
  });
  if (!done) return error_response(done.error());
  if (!found) return error_response({Code::kNotFound, fmt::format("there is no view {}", id)});
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("id", found->id).member("state", found->state).key("created_ns");
  write_time(json, found->created);
  json.end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
