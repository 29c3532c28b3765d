#include "server/api/late.h"

#include <fmt/core.h>

#include <utility>

#include "core/json.h"
#include "server/core/answer_cache.h"
#include "store/tables/run_state.h"

namespace corral::server::api {
namespace {

// The question with those parameters that late answers have, each by its length, so that no two are
// alike.
std::string question_of(const Request& request) {
  std::string question = request.path;
  for (const std::string_view name : {"from_ns", "to_ns", "lane", "metric", "source"}) {
    const auto value = request.query_value(name);
    question += value ? fmt::format("?{} {}", value->size(), *value) : "?";
  }
  return question;
}

Result<std::string> key_of(const Context& context, RunId run, const std::string& question) {
  return run.hex() + ' ' +
         TRY(in_snapshot(
             context.reader,
             [&](store::Reading& reading) { return store::page::run_state(reading, run); })) +
         question;
}

}  // namespace

Response response_of(Answer answer) {
  if (answer) return *std::move(answer);
  const RequestError& error = answer.error();
  return error_response(error.error, {.field = error.field, .position = error.position});
}

Answer late_answer(const Request& request, Context& context, RunId run,
                   std::function<Answer(const Left& left)> make) {
  const std::string question = question_of(request);
  if (auto body = context.answers->find(TRY(key_of(context, run, question))))
    return json_response(*std::move(body));
  Response response;
  response.late = [&context, run, question, make = std::move(make)](const Left& left) -> Response {
    // Another request may have made it meanwhile. The state is read before the answer: data that
    // come in between are in the answer already, and ask for another.
    const auto key = key_of(context, run, question);
    if (!key) return error_response(key.error());
    if (auto body = context.answers->find(*key)) return json_response(*std::move(body));
    Answer made = make(left);
    if (made && made->status == 200) context.answers->keep(*key, made->body);
    return response_of(std::move(made));
  };
  return response;
}

}  // namespace corral::server::api
