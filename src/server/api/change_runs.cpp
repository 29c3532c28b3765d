// Changing runs in bulk: name, tags, archive and trash.
#include "store/search/change_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

using store::tracking::ChangedRun;
using store::tracking::RunChange;

constexpr std::size_t kMostChangedTags = 100;     // per run
constexpr std::size_t kTagCharacters = 8000;      // the limit of a value, as in MLflow
constexpr std::size_t kMostTagBytes = 16u << 20;  // written by one request, over all runs

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

bool is_name(std::string_view text) {
  return !trim(text).empty() && text.size() <= limits::kNameBytes && !has_control(text);
}

void read_tags(RequestFields& fields, RunChange& change) {
  const Json* tags = fields.object("tags");
  if (tags == nullptr) return;
  const Json::Object& members = *tags->as_object();
  if (members.size() > kMostChangedTags)
    return fields.wrong("tags", fmt::format("an object of at most {} members", kMostChangedTags));
  fields.nested("tags", [&](RequestFields& inner) {
    for (const auto& [key, value] : members) {
      const std::string* text = value.as_string();
      if (!is_name(key)) {
        return inner.wrong(key, fmt::format("named with 1 to {} bytes, without control characters",
                                            limits::kNameBytes));
      }
      if (key == store::tracking::kRunNameTag)
        return inner.wrong(key, "left out: it follows the member name, which renames the run");
      const bool fits = text != nullptr && count_characters(*text) <= kTagCharacters &&
                        text->find('\0') == std::string::npos;
      if (!fits && !value.is_null()) {
        return inner.wrong(key, fmt::format("null, or a text of at most {} characters without NUL",
                                            kTagCharacters));
      }
      change.tags.emplace_back(key, text != nullptr ? std::optional(*text) : std::nullopt);
    }
  });
}

std::size_t bytes_of_tags(const RunChange& change) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : change.tags) bytes += key.size() + value.value_or("").size();
  return bytes;
}

// The runs and tags that one request names so far, over all its changes.
struct Together {
  std::set<RunId> runs;
  std::size_t tag_bytes = 0;  // counted for each run
};

// A run belongs to one change, so that its undo is one change.
void read_change(RequestFields& fields, Together& together, RunChanges& changes) {
  fields.only({"runs", "name", "tags", "state"});
  const auto runs = fields.run_ids(kMostChangedRuns);
  RunChange change;
  change.name = fields.text("name");
  if (change.name && !is_name(*change.name)) {
    fields.wrong("name", fmt::format("a name of 1 to {} bytes, without control characters",
                                     limits::kNameBytes));
  }
  read_tags(fields, change);
  change.lifecycle = read_lifecycle(fields);
  if (change.empty()) fields.wrong("state", "a state, beside or instead of a name and tags");
  if (runs.empty()) fields.wrong("runs", "at least one run");
  // Before a copy is made for each run.
  together.tag_bytes += bytes_of_tags(change) * runs.size();
  if (together.tag_bytes > kMostTagBytes)
    return fields.wrong("tags", "at most 16 MiB of tags, counted for each of the runs");
  for (const RunId run : runs) {
    if (!together.runs.insert(run).second)
      return fields.wrong("runs", fmt::format("runs that are named once; {} is twice", run.hex()));
    changes.runs.push_back({run, change});
  }
  if (together.runs.size() > kMostChangedRuns)
    fields.wrong("runs", fmt::format("at most {} runs in all changes", kMostChangedRuns));
}

void write_tags(JsonWriter& json, const RunChange& change) {
  json.key("tags").begin_object();
  for (const auto& [key, value] : change.tags) {
    json.key(key);
    value ? json.value(*value) : json.null();
  }
  json.end_object();
}

// The members of a change of the request, without its runs.
void write_undo(JsonWriter& json, const RunChange& undo) {
  json.key("undo");
  if (undo.empty()) {
    json.null();
    return;
  }
  json.begin_object();
  if (undo.name) json.member("name", *undo.name);
  if (!undo.tags.empty()) write_tags(json, undo);
  if (undo.lifecycle) json.member("state", store::lifecycle_name(*undo.lifecycle));
  json.end_object();
}

}  // namespace

std::optional<store::Lifecycle> read_lifecycle(RequestFields& fields) {
  using store::Lifecycle;
  const auto named = [](Lifecycle one) { return std::pair(store::lifecycle_name(one), one); };
  return fields.choice<Lifecycle>("state", {named(Lifecycle::kActive), named(Lifecycle::kArchived),
                                            named(Lifecycle::kDeleted)});
}

Parsed<RunChanges> parse_run_changes(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"changes", "force"});
  RunChanges changes;
  Together together;
  fields.each("changes", kMostChangedRuns,
              [&](RequestFields& one) { read_change(one, together, changes); });
  changes.force = fields.boolean("force").value_or(false);
  return fields.finish(std::move(changes));
}

Answer change_runs(const Request& request, Context& context) {
  const RunChanges wanted = TRY_PARSED(parse_run_changes(request.body));
  const auto changed = TRY(commit(context.store, [&](store::Writing& writing) {
    return store::tracking::change_runs(
        writing, wanted.runs,
        {.now = sys::utc_now(), .force = wanted.force, .own_of = trashes_own_of(context)});
  }));
  if (changed.refused) return tl::unexpected(*changed.refused);
  std::vector<RunId> runs;
  for (const ChangedRun& run : changed.runs) {
    if (!run.undo.empty()) runs.push_back(run.id);
  }
  context.events.note(runs, {});
  return array_response("runs", changed.runs, [](JsonWriter& json, const ChangedRun& run) {
    json.begin_object().member("id", run.id.hex()).member("name", run.name);
    json.member("state", store::lifecycle_name(run.lifecycle));
    write_undo(json, run.undo);
    json.end_object();
  });
}

}  // namespace corral::server::api
