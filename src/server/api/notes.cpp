// Notes of people about a run.
#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/notes.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kMostNote = 10'000;  // characters

tl::expected<page::NoteText, Response> read_note(const Request& request) {
  const Parsed<Json> json = parse_body(request.body);
  if (!json) return tl::unexpected<Response>(bad_body(json.error()));
  RequestFields fields(request.body, *json);
  fields.only({"time_ns", "text"});
  page::NoteText note;
  if (const auto time = fields.integer("time_ns", "nanoseconds of UTC"))
    note.time = utc_time(*time);
  note.text = fields.text("text").value_or("");
  if (trim(note.text).empty() || count_characters(note.text) > kMostNote ||
      note.text.find('\0') != std::string::npos)
    fields.wrong("text", "1 to 10000 characters, without NUL");
  if (fields.error()) return tl::unexpected<Response>(bad_body(*fields.error()));
  return note;
}

// The run and the note that the path names.
struct Named {
  RunId run;
  std::int64_t note = 0;
};
tl::expected<Named, Response> named_by(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return tl::unexpected<Response>(error_response(run.error()));
  const auto note = parse_int(request.param("note"));
  if (!note) {
    return tl::unexpected<Response>(error_response(
        {Code::kInvalidArgument, fmt::format("'{}' is no id of a note", request.param("note"))},
        {.field = "note", .position = std::nullopt}));
  }
  return Named{.run = *run, .note = *note};
}

Response no_note(const Named& named) {
  return error_response(
      {Code::kNotFound, fmt::format("run {} has no note {}", named.run.hex(), named.note)});
}

void write_note(JsonWriter& json, const page::Note& note) {
  json.begin_object().member("id", note.id).key("time_ns");
  write_time(json, note.content.time);
  json.member("text", note.content.text).key("created_ns");
  write_time(json, note.created);
  json.end_object();
}

Response changed(const page::Note& note, RunId run, Context& context) {
  context.events.note(std::span(&run, 1), {});
  std::string body;
  JsonWriter json(body);
  write_note(json, note);
  return json_response(std::move(body));
}

}  // namespace

Response notes(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  std::vector<page::Note> all;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    all = TRY(page::notes(reading, *run));
    return {};
  });
  if (!done) return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("notes").begin_array();
  for (const page::Note& note : all) write_note(json, note);
  json.end_array().end_object();
  return json_response(std::move(body));
}

Response add_note(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  const auto content = read_note(request);
  if (!content) return content.error();
  page::Note note;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    note = TRY(page::add_note(writing, *run, *content, sys::utc_now()));
    return {};
  });
  return done ? changed(note, *run, context) : error_response(done.error());
}

Response change_note(const Request& request, Context& context) {
  const auto named = named_by(request, context);
  if (!named) return named.error();
  const auto content = read_note(request);
  if (!content) return content.error();
  std::optional<page::Note> note;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    note = TRY(page::change_note(writing, named->run, named->note, *content));
    return {};
  });
  if (!done) return error_response(done.error());
  return note ? changed(*note, named->run, context) : no_note(*named);
}

Response delete_note(const Request& request, Context& context) {
  const auto named = named_by(request, context);
  if (!named) return named.error();
  bool deleted = false;
  const auto done = context.store.change([&](store::Writing& writing) -> Result<> {
    deleted = TRY(page::delete_note(writing, named->run, named->note));
    return {};
  });
  if (!done) return error_response(done.error());
  if (!deleted) return no_note(*named);
  context.events.note(std::span(&named->run, 1), {});
  std::string body;
  JsonWriter(body).begin_object().member("id", named->note).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
