#include "server/api/late.h"

#include <fmt/core.h>

#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "server/core/answer_cache.h"
#include "store/tables/run_state.h"

namespace corral::server::api {
namespace {

// The question with those parameters that late answers have, each by its length, so that no two are
// alike, and what is hidden from who asks.
std::string question_of(const Request& request, const store::Access& access) {
  std::string question = request.path;
  for (const std::string_view name : {"from_ns", "to_ns", "lane", "metric", "source", "job"}) {
    const auto value = request.query_value(name);
    question += value ? fmt::format("?{} {}", value->size(), *value) : "?";
  }
  // Others may see fewer neighbours of the same run.
  if (!access.sees_all()) question += "?without " + join(access.hidden(), " ");
  return question;
}

}  // namespace

Response response_of(Answer answer) {
  if (answer) return *std::move(answer);
  const RequestError& error = answer.error();
  return error_response(error.error, {.field = error.field, .position = error.position});
}

Result<std::string> state_of(const Context& context, RunId run) {
  const auto read = [&](store::Reading& reading) { return store::page::run_state(reading, run); };
  return run.hex() + ' ' + TRY(in_snapshot(context.reader, read));
}

Result<std::shared_ptr<const analyze::TrainingUnits>> counted_units(const Context& context,
                                                                    RunId run) {
  const auto counted = context.units->with([](const CountedUnits& last) { return last; });
  if (counted.units == nullptr || counted.state != TRY(state_of(context, run))) return nullptr;
  return counted.units;
}

Answer late_answer(const Request& request, Context& context, State state,
                   std::function<Answer(const Left& left)> make) {
  const auto key_of = [state = std::move(state),
                       question = question_of(request, context.reader.access())] {
    return state().map([&](const std::string& text) { return text + question; });
  };
  if (auto body = context.answers->find(TRY(key_of()))) return json_response(*std::move(body));
  Response response;
  response.late = [&context, key_of, make = std::move(make)](const Left& left) -> Response {
    // Another request may have made it meanwhile. The state is read before the answer: data that
    // come in between are in the answer already, and ask for another.
    const auto key = key_of();
    if (!key) return error_response(key.error());
    if (auto body = context.answers->find(*key)) return json_response(*std::move(body));
    Answer made = make(left);
    if (made && made->status == 200) context.answers->keep(*key, made->body);
    return response_of(std::move(made));
  };
  return response;
}

Answer late_answer(const Request& request, Context& context, RunId run,
                   std::function<Answer(const Left& left)> make) {
  return late_answer(
      request, context, [&context, run] { return state_of(context, run); }, std::move(make));
}

}  // namespace corral::server::api
