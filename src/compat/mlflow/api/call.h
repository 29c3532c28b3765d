// A call of MLflow's interface, from its request to its answer: what its handlers have in common.
//
// Most handlers take a Message (the JSON body or a GET's query, with path parameters as fields) and
// return the answer's JSON text or an ApiError. Each file ends with the table of its handlers. They
// are synchronous and run on the transport's handler pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compat/mlflow/wire/error.h"
#include "compat/mlflow/wire/filter.h"
#include "compat/mlflow/wire/message.h"
#include "core/json.h"
#include "core/role.h"
#include "server/core/context.h"
#include "server/core/http_types.h"
#include "server/core/router.h"
#include "store/engine/database.h"
#include "store/search/search.h"
#include "store/store.h"

namespace corral::server::mlflow {

namespace tracking = store::tracking;
namespace wire = corral::mlflow;

using store::sql::Connection;
using store::sql::Reading;
using wire::Answer;
using wire::ApiError;
using wire::ErrorCode;
using wire::invalid;
using wire::Message;
using wire::refuse;

using Body = Answer<std::string>;  // JSON text

struct Rpc {
  Method method;
  std::string_view path;  // behind the prefix: "/2.0/mlflow/runs/get", with {names} as routes have
  Body (*call)(Message& in, Context& context) = nullptr;
  // Instead of `call`: of the request itself, or with an answer that is streamed.
  Answer<Response> (*raw)(const Request& request, Context& context) = nullptr;
  Answer<Response> (*stream)(Message& in, Context& context) = nullptr;
  bool takes_file = false;                   // the body is a file, of any content
  std::optional<Role> needs = std::nullopt;  // as server::Route has it
};

// ---- answers

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

// "name": [...], each row by `write(json, row)`; nothing if there are none.
template <class Rows, class Write>
void write_list(JsonWriter& json, std::string_view name, const Rows& rows, Write&& write) {
  if (rows.empty()) return;
  json.key(name).begin_array();
  for (const auto& row : rows) write(json, row);
  json.end_array();
}

// {"name": [...], "next_page_token": ...}, written item by item; what is empty is left out.
class ListText {
 public:
  explicit ListText(std::string_view name) : name_(name) {}
  // Call it before each item.
  void separate(std::string& out);
  void finish(std::string& out, std::string_view next_page = {}) const;

 private:
  std::string_view name_;
  bool begun_ = false;
};

// The same of `rows`, each by `write(json, row)`.
template <class Rows, class Write>
std::string list_answer(std::string_view name, const Rows& rows, Write&& write,
                        std::string_view next_page = {}) {
  std::string out;
  ListText list(name);
  for (const auto& row : rows) {
    list.separate(out);
    JsonWriter json(out);
    write(json, row);
  }
  list.finish(out, next_page);
  return out;
}

// The token of the page behind these rows; empty if there is none.
template <class Key>
std::string next_page(const tracking::Paging& paging, const tracking::Found<Key>& found) {
  if (!found.more) return {};
  return wire::page_token(paging.offset + static_cast<std::int64_t>(found.rows.size()));
}

// {}.
Body empty_answer();
Response answer(Body body);
Response answer(Answer<Response> made);
Response answer(const ApiError& error);

// The handler as a route of the server has it.
template <auto kHandler>
Response answered(const Request& request, Context& context) {
  return answer(kHandler(request, context));
}

// ---- requests

// Refuses a request whose body is not declared as JSON. A browser sends JSON to another site only
// after a CORS preflight, so this keeps other sites' pages from writing.
Answer<> check_content_type(const Request& request);

// Fields that all searches have: filter, order_by, page_token and max_results.
struct SearchForm {
  wire::SearchKind kind;
  std::int64_t fallback = 0;  // max_results where the request has none
  std::int64_t most = 0;      // greatest max_results
};
Answer<tracking::Search> read_search(Message& in, const SearchForm& form);
Answer<tracking::View> read_view(Message& in, std::string_view name);

// ---- the store

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

// The same, unless a field of `in` was wrong.
template <class Work>
auto change(const Message& in, Context& context, Work&& work)
    -> decltype(work(std::declval<store::sql::Connection&>())) {
  TRY_API(in.check());
  return change(context, std::forward<Work>(work));
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

template <class Work>
auto inspect(const Message& in, Context& context, Work&& work)
    -> decltype(work(std::declval<store::sql::Reading&>())) {
  TRY_API(in.check());
  return inspect(context, std::forward<Work>(work));
}

}  // namespace corral::server::mlflow
