// Boards, lists of runs and reports that people saved under a name: the same document, each kind
// with names of its own.
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

Parsed<page::BoardChange> read_change(const Request& request, page::BoardKind kind) {
  const std::string_view word = page::kind_name(kind);
  const std::string_view name = request.param(word);
  if (count_characters(name) > kMostBoardName) {
    return fail_about(word, Code::kInvalidArgument,
                      fmt::format("a {}'s name has at most {} characters", word, kMostBoardName));
  }
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"state", "expected_updated_ns"});
  page::BoardChange change{
      .kind = kind, .name = std::string(name), .state = read_state(fields), .expected = {}};
  if (const auto expected = fields.integer("expected_updated_ns", "nanoseconds of UTC"))
    change.expected = utc_time(*expected);
  return fields.finish(std::move(change));
}

void write_board(JsonWriter& json, const page::Board& board) {
  json.begin_object().member("name", board.name);
  write_time(json, "updated_ns", board.updated);
  json.member("state", board.state).end_object();
}

Answer all_of(page::BoardKind kind, Context& context) {
  const auto all = TRY(in_snapshot(
      context.reader, [&](store::Reading& reading) { return page::boards(reading, kind); }));
  return array_response(fmt::format("{}s", page::kind_name(kind)), all, write_board);
}

Answer save(const Request& request, page::BoardKind kind, Context& context) {
  const page::BoardChange change = TRY_PARSED(read_change(request, kind));
  const page::SavedBoard saved = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::save_board(writing, change, sys::utc_now());
  }));
  if (!saved.saved) {
    const std::string_view word = page::kind_name(kind);
    return fail_about("expected_updated_ns", Code::kConflict,
                      saved.updated
                          ? fmt::format("somebody else has saved the {} since it was read", word)
                          : fmt::format("the {} is not there any more", word));
  }
  return object_response([&](JsonWriter& json) {
    json.member("name", change.name);
    write_time(json, "updated_ns", saved.updated);
  });
}

Answer remove(const Request& request, page::BoardKind kind, Context& context) {
  const std::string_view word = page::kind_name(kind);
  const std::string name(request.param(word));
  const bool deleted = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::delete_board(writing, kind, name);
  }));
  if (!deleted) return fail(Code::kNotFound, fmt::format("there is no {} '{}'", word, name));
  return object_response([&](JsonWriter& json) { json.member("name", name); });
}

}  // namespace

Answer boards(const Request&, Context& context) { return all_of(page::BoardKind::kBoard, context); }

Answer save_board(const Request& request, Context& context) {
  return save(request, page::BoardKind::kBoard, context);
}

Answer delete_board(const Request& request, Context& context) {
  return remove(request, page::BoardKind::kBoard, context);
}

Answer lists(const Request&, Context& context) {
  return all_of(page::BoardKind::kRunList, context);
}

Answer save_list(const Request& request, Context& context) {
  return save(request, page::BoardKind::kRunList, context);
}

Answer delete_list(const Request& request, Context& context) {
  return remove(request, page::BoardKind::kRunList, context);
}

Answer reports(const Request&, Context& context) {
  return all_of(page::BoardKind::kReport, context);
}

Answer save_report(const Request& request, Context& context) {
  return save(request, page::BoardKind::kReport, context);
}

Answer delete_report(const Request& request, Context& context) {
  return remove(request, page::BoardKind::kReport, context);
}

}  // namespace corral::server::api
