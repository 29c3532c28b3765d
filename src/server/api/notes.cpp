// Notes of people about a run.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/page.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kMostNote = 10'000;  // characters
constexpr std::size_t kMostFinding = 300;

constexpr std::array<std::string_view, 2> kMarks = {"dismissed", "kept"};  // by Mark

Parsed<page::NoteText> read_note(const Request& request) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"time_ns", "end_ns", "text", "finding", "mark"});
  page::NoteText note;
  if (const auto time = fields.integer("time_ns", "nanoseconds of UTC"))
    note.time = utc_time(*time);
  if (const auto end = fields.integer("end_ns", "nanoseconds of UTC")) note.end = utc_time(*end);
  if (note.end && (!note.time || *note.end <= *note.time))
    fields.wrong("end_ns", "a time after 'time_ns', which has to be there");
  note.text = fields.text("text").value_or("");
  note.finding = fields.text("finding").value_or("");
  if (count_characters(note.finding) > kMostFinding || note.finding.find('\0') != std::string::npos)
    fields.wrong("finding", "the id of a finding");
  if (const auto mark = fields.text("mark")) {
    const auto found = std::ranges::find(kMarks, *mark);
    if (found == kMarks.end() || note.finding.empty()) {
      fields.wrong("mark", "'dismissed' or 'kept', beside a finding");
    } else {
      note.mark = static_cast<page::Mark>(found - kMarks.begin());
      if (note.end) fields.wrong("end_ns", "absent beside a mark");
    }
  }
  const bool too_short = trim(note.text).empty() && !note.mark;
  if (too_short || count_characters(note.text) > kMostNote ||
      note.text.find('\0') != std::string::npos)
    fields.wrong("text", "1 to 10000 characters, without NUL");
  return fields.finish(std::move(note));
}

// The note that the path names.
struct NoteId {
  RunId run;
  std::int64_t note = 0;
};
Parsed<NoteId> requested_note(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  const auto note = parse_int(request.param("note"));
  if (note) return NoteId{.run = run, .note = *note};
  return fail_about("note", Code::kInvalidArgument,
                    fmt::format("'{}' is no id of a note", request.param("note")));
}

tl::unexpected<Error> no_note(const NoteId& id) {
  return fail(Code::kNotFound, fmt::format("run {} has no note {}", id.run.hex(), id.note));
}

void write_members(JsonWriter& json, const page::Note& note) {
  json.member("id", note.id);
  write_time(json, "time_ns", note.content.time);
  write_time(json, "end_ns", note.content.end);
  json.member("text", note.content.text);
  write_text(json, "finding", note.content.finding);
  write_text(json, "mark",
             note.content.mark ? kMarks.at(static_cast<std::size_t>(*note.content.mark)) : "");
  write_time(json, "created_ns", note.created);
  write_text(json, "author", note.author);
}

Response changed(const page::Note& note, RunId run, Context& context) {
  context.events.note(std::span(&run, 1), {});
  return object_response([&](JsonWriter& json) { write_members(json, note); });
}

}  // namespace

Answer notes(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  const auto all = TRY(in_snapshot(
      context.reader, [&](store::Reading& reading) { return page::notes(reading, run); }));
  return array_response("notes", all, [](JsonWriter& json, const page::Note& note) {
    json.begin_object();
    write_members(json, note);
    json.end_object();
  });
}

Answer add_note(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  const page::NoteText content = TRY_PARSED(read_note(request));
  const page::Note note = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::add_note(
        writing,
        {.run = run, .content = content, .now = sys::utc_now(), .author = context.who.user});
  }));
  return changed(note, run, context);
}

Answer change_note(const Request& request, Context& context) {
  const NoteId id = TRY_PARSED(requested_note(request, context));
  const page::NoteText content = TRY_PARSED(read_note(request));
  const auto note = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::change_note(
        writing, id.note,
        {.run = id.run, .content = content, .now = sys::utc_now(), .author = context.who.user});
  }));
  if (!note) return no_note(id);
  return changed(*note, id.run, context);
}

Answer delete_note(const Request& request, Context& context) {
  const NoteId id = TRY_PARSED(requested_note(request, context));
  const bool deleted = TRY(commit(context.store, [&](store::Writing& writing) {
    return page::delete_note(writing, id.run, id.note);
  }));
  if (!deleted) return no_note(id);
  context.events.note(std::span(&id.run, 1), {});
  return object_response([&](JsonWriter& json) { json.member("id", id.note); });
}

}  // namespace corral::server::api
