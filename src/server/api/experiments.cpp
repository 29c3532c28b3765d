// Experiments.
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/run_json.h"
#include "server/api/write.h"

namespace corral::server::api {

Response experiments(const Request&, Context& context) {
  const auto found = context.reader.experiments();
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("experiments").begin_array();
  for (const store::Experiment& experiment : *found) write_experiment(json, experiment);
  json.end_array().end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
