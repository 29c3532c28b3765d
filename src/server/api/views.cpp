// States of the page under a short id, for links.
#include <fmt/core.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/page.h"
#include "sys/clock.h"

namespace corral::server::api {

Answer save_view(const Request& request, Context& context) {
  const Json body = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, body);
  fields.only({"state"});
  const std::string state = TRY_PARSED(fields.finish(read_state(fields)));
  const std::string id = TRY(commit(context.store, [&](store::Writing& writing) {
    return store::page::save_view(writing, state, sys::utc_now());
  }));
  return object_response([&](JsonWriter& json) { json.member("id", id); });
}

Answer view(const Request& request, Context& context) {
  const std::string_view id = request.param("view");
  const auto found = TRY(in_snapshot(
      context.reader, [&](store::Reading& reading) { return store::page::view(reading, id); }));
  if (!found) return fail(Code::kNotFound, fmt::format("there is no view {}", id));
  return object_response([&](JsonWriter& json) {
    json.member("id", found->id).member("state", found->state);
    write_time(json, "created_ns", found->created);
  });
}

}  // namespace corral::server::api
