// Message: one request of MLflow's interface, read by the rules of proto2's JSON form.
//
// Fields have snake_case names; unknown ones are ignored; int64 and
// double come as numbers or as decimal strings, doubles also as "NaN", "Infinity", "-Infinity";
// null is absent. A GET's query is the same message: its values are strings, and a field that comes
// several times is a list. The first thing found wrong stays in the error that all messages of a
// request share; getters give a fallback from then on, so that a handler reads all it needs and
// looks once:
//
//   Request in(json);
//   const std::string run = in.need_text("run_id");
//   TRY_API(in.check());
//
// Not for hot paths (log_batch.h). One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/error.h"
#include "core/json.h"

namespace corral::mlflow {

class Message {
 public:
  // The object's lifetime is the caller's business.
  explicit Message(const Json& object)
      : object_(&object), error_(std::make_shared<std::optional<ApiError>>()) {}

  [[nodiscard]] const std::optional<ApiError>& error() const { return *error_; }
  // Returns the first error, if any. Call it after the last field was read.
  [[nodiscard]] Answer<> check() const;
  // Records an error; only the first is kept.
  void wrong(ApiError error);
  // "Invalid value ... for parameter ... supplied: hint".
  void wrong_value(std::string_view name, std::string_view hint = {});
  // "... Hint: Value was of type ...".
  void wrong_type(std::string_view name);
  void missing(std::string_view name);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const Json* find(std::string_view name) const;  // nullptr for null, too
  [[nodiscard]] std::string path_of(std::string_view name) const;

  std::optional<std::string> maybe_text(std::string_view name);
  std::string text(std::string_view name) { return maybe_text(name).value_or(""); }
  // It is an error if the field is absent or empty.
  std::string need_text(std::string_view name);
  std::optional<std::int64_t> maybe_integer(std::string_view name);
  std::int64_t need_integer(std::string_view name);
  std::optional<bool> maybe_bool(std::string_view name);
  // The index of a name or number among the enum's names, which stand at their numbers ("" for
  // numbers that are none); nullopt when absent or an unknown name, as proto2 says.
  std::optional<std::size_t> maybe_enum(std::string_view name,
                                        std::span<const std::string_view> names);
  std::vector<std::string> texts(std::string_view name);
  std::vector<Message> messages(std::string_view name);
  std::optional<Message> message(std::string_view name);

 private:
  Message(const Json& object, std::shared_ptr<std::optional<ApiError>> error, std::string path)
      : object_(&object), error_(std::move(error)), path_(std::move(path)) {}

  const Json* object_;
  std::shared_ptr<std::optional<ApiError>> error_;
  std::string path_;  // "" or "metrics[0]."
};

// The object that a body holds: an empty one is {}, a JSON string that holds an object is that
// object (old clients encode twice). Anything else is an error.
Answer<Json> parse_body(std::string_view body);
// The object that a query is.
Json query_object(const std::vector<std::pair<std::string, std::string>>& query);

// Without a byte order mark.
std::string_view without_mark(std::string_view body);
// Refuses JSON text with a NUL character in a string: not every database keeps one.
Answer<> check_no_nul(std::string_view json);

// MLflow's own messages, which clients and their tests know.
std::string wrong_type_message(std::string_view path, const Json& value);
std::string invalid_value(std::string_view path, const Json& value, std::string_view hint = {});
std::string missing_value(std::string_view path);
// Formats a number as Python prints a float: 9 is "9.0".
std::string shown_number(double value);

// ---- page tokens
//
// Those of lists are base64 of {"offset": N}, N >= 1; those of histories of {"offset": N,
// "timestamp": T}, which is behind the first N points (N >= 0) at time T.

std::string page_token(std::int64_t offset);
// Returns 0 for an empty token.
Answer<std::int64_t> parse_page_token(std::string_view token);

struct HistoryToken {
  std::int64_t time_ms = 0;
  std::int64_t offset = 0;
};
std::string history_token(const HistoryToken& place);
// Returns nullopt for an empty token.
Answer<std::optional<HistoryToken>> parse_history_token(std::string_view token);

}  // namespace corral::mlflow
