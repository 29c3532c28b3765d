// Boards that people saved under a name.
#include <fmt/core.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/page.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kMostBoardName = 250;  // characters

Parsed<page::BoardChange> read_change(const Request& request) {
  const std::string_view name = request.param("board");
  if (count_characters(name) > kMostBoardName)
    return fail_about("board", Code::kInvalidArgument, "a board's name has at most 250 characters");
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"state", "expected_updated_ns"});
  page::BoardChange change{.name = std::string(name), .state = read_state(fields), .expected = {}};
  if (const auto expected = fields.integer("expected_updated_ns", "nanoseconds of UTC"))
    change.expected = utc_time(*expected);
  return fields.finish(std::move(change));
}

void write_board(JsonWriter& json, const page::Board& board) {
  json.begin_object().member("name", board.name);
  write_time(json, "updated_ns", board.updated);
  json.member("state", board.state).end_object();
}

}  // namespace

Answer boards(const Request&, Context& context) {
  const auto all = TRY(in_snapshot(context.reader, page::boards));
  return array_response("boards", all, write_board);
}

Answer save_board(const Request& request, Context& context) {
  const page::BoardChange change = TRY_PARSED(read_change(request));
  const page::SavedBoard saved = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::save_board(writing, change, sys::utc_now());
  }));
  if (!saved.saved) {
    return fail_about("expected_updated_ns", Code::kConflict,
                      saved.updated ? "somebody else has saved the board since it was read"
                                    : "the board is not there any more");
  }
  return object_response([&](JsonWriter& json) {
    json.member("name", change.name);
    write_time(json, "updated_ns", saved.updated);
  });
}

Answer delete_board(const Request& request, Context& context) {
  const std::string name(request.param("board"));
  const bool deleted = TRY(commit(
      context.store, [&](store::Writing& writing) { return page::delete_board(writing, name); }));
  if (!deleted) return fail(Code::kNotFound, fmt::format("there is no board '{}'", name));
  return object_response([&](JsonWriter& json) { json.member("name", name); });
}

}  // namespace corral::server::api
