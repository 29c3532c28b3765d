// A call of MLflow's interface, from its request to its answer.
//
// Most handlers are functions of a Message (the JSON body, or a GET's query, with the parameters of
// the path as fields) that give the JSON text of the answer or an ApiError; routes.cpp lists them.
// Plain synchronous functions on the transport's handler pool, as those of api/.
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

// Of a request with a body: JSON, or nothing of it is looked at. (A page of another site cannot
// send that without asking first.)
Answer<> check_content_type(const Request& request);

// Field access is over: the first thing wrong with them, if any.
Answer<> all_read(const Message& in);

// Runs `work(sql::Connection&)`, which gives an Answer<T>, in a transaction that is durable when
// this returns; an ApiError takes back what it wrote. It may be run several times.
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
  return tl::unexpected(corral::mlflow::api_error(done.error()));
}

// Runs `work(store::sql::Reading&)`, which gives an Answer<T>, in one snapshot.
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
  return tl::unexpected(corral::mlflow::api_error(done.error()));
}

}  // namespace corral::server::mlflow
