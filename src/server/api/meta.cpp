#include <unistd.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/core/process_facts.h"
#include "server/core/router.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

constexpr int kApiVersion = 1;

}  // namespace

Response version(const Request&, Context& context) {
  const Result<store::StoreInfo> info = context.store.info();
  if (!info) return error_response(info.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("version", context.facts.version).member("api", kApiVersion);
  json.member("store", info->location).member("schema_version", info->schema_version);
  json.member("pid", std::int64_t{::getpid()});
  json.key("started_ns").value_string(ns_of(context.facts.started));
  json.member("cpu_seconds", seconds(sys::process_cpu_time())).key("rss_bytes");
  if (const auto bytes = resident_bytes()) {
    json.value(*bytes);
  } else {
    json.null();
  }
  json.end_object();
  return json_response(std::move(body));
}

Response alive(const Request&, Context&) {
  Response response = text_response("OK");
  response.set_header("Cache-Control", "no-store");
  return response;
}

Response openapi_page(const Request&, Context& context) {
  return json_response(openapi(routes(), context.facts.version));
}

Response stop(const Request& request, Context& context) {
  if (!request.over_unix) {
    return error_response(
        {Code::kPermission,
         "the server is stopped through its Unix socket only: corral serve --stop"});
  }
  context.request_stop();
  return json_response(R"({"stopping":true})");
}

}  // namespace corral::server::api
