// Answers about runs that take a second or more: made late, one at a time and at low priority
// (http/response.h), and kept until more of them is stored.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "analyze/left.h"
#include "server/api/handlers.h"

namespace corral::server::api {

// The response of a handler's answer; errors get the API's form.
Response response_of(Answer answer);

using analyze::Left;

// The durable state of a run: a text that changes with what is stored of it.
Result<std::string> state_of(const Context& context, RunId run);
// The steps and epochs of the run that /explain counted in this state, which footprint and interest
// need not read again; null: it counted none.
Result<std::shared_ptr<const analyze::TrainingUnits>> counted_units(const Context& context,
                                                                    RunId run);

// The durable state of what an answer is about: a text that changes with it.
using State = std::function<Result<std::string>()>;

// The answer that `make` makes, or an equal one of before, of the same state. The request is a GET;
// its path and the parameters from_ns, to_ns, lane, metric, source and job decide the answer.
Answer late_answer(
    const Request& request, Context& context, State state,
    std::function<Answer(const Left& left)> make);  // after `state`, which is the answer's
// The same about a run.
Answer late_answer(const Request& request, Context& context, RunId run,
                   std::function<Answer(const Left& left)> make);

}  // namespace corral::server::api
