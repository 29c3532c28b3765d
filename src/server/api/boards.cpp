// Boards that people saved under a name.
#include <fmt/core.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/boards.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kMostBoardName = 250;  // characters

tl::expected<page::BoardChange, Response> read_change(const Request& request) {
  const std::string_view name = request.param("board");
  if (count_characters(name) > kMostBoardName) {
    return tl::unexpected<Response>(
        error_response({Code::kInvalidArgument, "a board's name has at most 250 characters"},
                       {.field = "board", .position = std::nullopt}));
  }
  const Parsed<Json> json = parse_body(request.body);
  if (!json) return tl::unexpected<Response>(bad_body(json.error()));
  RequestFields fields(request.body, *json);
  fields.only({"state", "expected_updated_ns"});
  page::BoardChange change{.name = std::string(name), .state = read_state(fields), .expected = {}};
  if (const auto expected = fields.integer("expected_updated_ns", "nanoseconds of UTC"))
    change.expected = utc_time(*expected);
  if (fields.error()) return tl::unexpected<Response>(bad_body(*fields.error()));
  return change;
}

}  // namespace

Response boards(const Request&, Context& context) {
  std::vector<page::Board> all;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    all = TRY(page::boards(reading));
    return {};
  });
  if (!done) return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("boards").begin_array();
  for (const page::Board& board : all) {
    json.begin_object().member("name", board.name).key("updated_ns");
    write_time(json, board.updated);
    json.member("state", board.state).end_object();
  }
  json.end_array().end_object();
  return json_response(std::move(body));
}

Response save_board(const Request& request, Context& context) {
  const auto change = read_change(request);
  if (!change) return change.error();
  page::SavedBoard saved;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    saved = TRY(page::save_board(writing, *change, sys::utc_now()));
    return {};
  });
  if (!done) return error_response(done.error());
  if (!saved.saved) {
    return error_response(
        {Code::kConflict, saved.updated ? "somebody else has saved the board since it was read"
                                        : "the board is not there any more"},
        {.field = "expected_updated_ns", .position = std::nullopt});
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("name", change->name).key("updated_ns");
  write_time(json, saved.updated);
  json.end_object();
  return json_response(std::move(body));
}

Response delete_board(const Request& request, Context& context) {
  const std::string name(request.param("board"));
  bool deleted = false;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    deleted = TRY(page::delete_board(writing, name));
    return {};
  });
  if (!done) return error_response(done.error());
  if (!deleted)
    return error_response({Code::kNotFound, fmt::format("there is no board '{}'", name)});
  std::string body;
  JsonWriter(body).begin_object().member("name", name).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
