// The last number of a session that is stored.
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {

Response session(const Request& request, Context& context) {
  const Result<SessionId> id = SessionId::parse(request.param("session"));
  if (!id) return error_response(id.error(), {.field = "session", .position = std::nullopt});
  const Result<std::optional<store::Ack>> ack = context.store.session(*id);
  if (!ack) return error_response(ack.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("session", id->hex()).member("known", ack->has_value());
  json.member("durable_seq", std::to_string(*ack ? (*ack)->durable_seq : 0)).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
