#include "cli/run_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

// The most runs of a page, and of a request for changes.
constexpr std::size_t kAtOnce = 1000;

FoundRun found_run(const Json& run) {
  return {.id = run.get_string("id"),
          .what = fmt::format("run {} ({}), {}", printable(run.get_string("name")),
                              run.get_string("id"), ending_text(run))};
}

struct SearchPage {
  const RunList& list;
  std::string text = {};
  std::size_t offset = 0;
};
Result<Json> search(const sys::HttpTarget& server, const SearchPage& page) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("state", page.list.state).member("text", page.text);
  if (!page.list.experiment.empty()) {
    json.key("where").begin_object().key("experiment").begin_array();
    json.value(page.list.experiment).end_array().end_object();
  }
  json.member("limit", static_cast<std::int64_t>(kAtOnce));
  json.member("offset", static_cast<std::int64_t>(page.offset)).end_object();
  return send_json(server, {.method = "POST", .path = "/api/corral/v1/runs/search", .body = body});
}

std::string request_body(std::span<const FoundRun> runs, const ChangeOrder& order) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("changes").begin_array().begin_object().key("runs").begin_array();
  for (const FoundRun& run : runs) json.value(run.id);
  json.end_array();
  if (order.name) json.member("name", *order.name);
  if (!order.tags.empty()) {
    json.key("tags").begin_object();
    for (const auto& [key, value] : order.tags) {
      json.key(key);
      value.empty() ? json.null() : json.value(value);
    }
    json.end_object();
  }
  if (!order.state.empty()) json.member("state", order.state);
  json.end_object().end_array().member("force", order.force).end_object();
  return body;
}

}  // namespace

Result<std::vector<FoundRun>> find_runs(const sys::HttpTarget& server,
                                        const std::vector<std::string>& runs) {
  std::vector<FoundRun> found;
  for (const std::string& run : runs) {
    FoundRun one = found_run(TRY(get_json(server, run_path(run))));
    if (std::ranges::find(found, one.id, &FoundRun::id) == found.end())
      found.push_back(std::move(one));
  }
  return found;
}

Result<FoundRun> find_hidden_run(const sys::HttpTarget& server, const std::string& text) {
  for (const char* state : {"trashed", "archived"}) {
    const RunList list{.state = state};
    const Json answer = TRY(search(server, {.list = list, .text = text}));
    std::vector<const Json*> by_id;
    for (const Json& run : items(answer, "runs")) {
      if (run.get_string("name") == text) return found_run(run);
      if (run.get_string("id").starts_with(lower_ascii(text))) by_id.push_back(&run);
    }
    if (by_id.size() > 1) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} is the beginning of several runs' ids: give more digits", text));
    }
    if (!by_id.empty()) return found_run(*by_id.front());
  }
  return fail(Code::kNotFound,
              fmt::format("no run in the trash or the archive has the id or name '{}'; corral ls "
                          "trash and corral ls archive list them",
                          text));
}

Result<std::vector<FoundRun>> list_runs(const sys::HttpTarget& server, const RunList& list) {
  std::vector<FoundRun> all;
  for (;;) {
    const Json answer = TRY(search(server, {.list = list, .offset = all.size()}));
    const Json::Array& runs = items(answer, "runs");
    for (const Json& run : runs) all.push_back(found_run(run));
    if (runs.size() < kAtOnce) return all;
  }
}

Result<std::vector<ChangedRun>> change_runs(const sys::HttpTarget& server,
                                            const std::vector<FoundRun>& runs,
                                            const ChangeOrder& order) {
  std::vector<ChangedRun> changed;
  for (std::span<const FoundRun> rest(runs); !rest.empty();) {
    const auto some = rest.first(std::min(kAtOnce, rest.size()));
    rest = rest.subspan(some.size());
    auto answered = send_json(server, {.method = "POST",
                                       .path = "/api/corral/v1/runs/changes",
                                       .body = request_body(some, order),
                                       .timeout = std::chrono::minutes(1)});
    if (!answered && answered.error().code == Code::kConflict)
      answered.error().message += " (--force)";
    const Json answer = TRY(std::move(answered));
    for (const Json& run : items(answer, "runs")) {
      changed.push_back({.id = run.get_string("id"),
                         .name = run.get_string("name"),
                         .changed = !member(run, "undo").is_null()});
    }
  }
  return changed;
}

}  // namespace corral::cli
