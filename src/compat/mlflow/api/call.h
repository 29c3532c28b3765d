// A call of MLflow's interface, from its request to its answer.
//
// Most handlers take a Message (the JSON body or a GET's query, with path parameters as fields) and
// return the answer's JSON text or an ApiError; routes.cpp lists them. They are synchronous and run
// on the transport's handler pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compat/mlflow/wire/error.h"
#include "compat/mlflow/wire/message.h"
#include "core/json.h"
#include "server/core/context.h"
#include "store/engine/database.h"
#include "store/store.h"

namespace corral::server::mlflow {

using corral::mlflow::Answer;
using corral::mlflow::ApiError;
using corral::mlflow::ErrorCode;
using corral::mlflow::invalid;
using corral::mlflow::Message;
using corral::mlflow::refuse;

using Body = Answer<std::string>;  // JSON text

// {"name": ...}; `write(json)` writes the value.
template <class Write>
std::string object_with(std::string_view name, Write&& write) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key(name);
  write(json);
  json.end_object();
  return out;
}

Response answer(Body body);
Response answer(const ApiError& error);

// Refuses a request whose body is not declared as JSON. A browser sends JSON to another site only
// after a CORS preflight, so this keeps other sites' pages from writing.
Answer<> check_content_type(const Request& request);

// Call it after the last field was read: returns the first error of `in`, if any.
Answer<> all_read(const Message& in);

// Runs `work(sql::Connection&)`, which returns an Answer<T>, in a transaction that is durable when
// this returns. An ApiError rolls it back. `work` may run several times.
template <class Work>
auto change(Context& context, Work&& work)
    -> decltype(work(std::declval<store::sql::Connection&>())) {
  using Out = decltype(work(std::declval<store::sql::Connection&>()));
  std::optional<Out> out;
  const Result<> done = context.store.change([&](store::sql::Connection& db) -> Result<> {
    out.emplace(work(db));
    return out->has_value() ? Result<>() : corral::fail(Code::kInvalidArgument, "refused");
  });
  if (out && (done || !out->has_value())) return *std::move(out);
  return tl::unexpected<ApiError>(done.error());
}

// Runs `work(store::sql::Reading&)`, which returns an Answer<T>, in one snapshot.
template <class Work>
auto inspect(Context& context, Work&& work)
    -> decltype(work(std::declval<store::sql::Reading&>())) {
  using Out = decltype(work(std::declval<store::sql::Reading&>()));
  std::optional<Out> out;
  const Result<> done = context.reader.inspect([&](store::sql::Reading& reading) -> Result<> {
    out.emplace(work(reading));
    return out->has_value() ? Result<>() : corral::fail(Code::kInvalidArgument, "refused");
  });
  if (out && (done || !out->has_value())) return *std::move(out);
  return tl::unexpected<ApiError>(done.error());
}

}  // namespace corral::server::mlflow
