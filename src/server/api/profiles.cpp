// Profiles on request: a page asks, the run's supervisor receives the request and reports its
// progress.
#include <fmt/core.h>

#include "core/json.h"
#include "core/profile_id.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "server/core/profile_asks.h"

namespace corral::server::api {

void write_profile(JsonWriter& json, const ProfileAsk& ask) {
  const ProfileNews& news = ask.news;
  json.begin_object().member("run", ask.run.hex()).member("id", ask.id);
  json.member("tool", ask.tool).member("steps", ask.steps).key("asked_ns");
  write_time(json, ask.asked);
  json.member("state", profile_state_name(news.state));
  if (news.first && news.last) json.member("first", *news.first).member("last", *news.last);
  if (!news.artifact.empty()) json.member("artifact", news.artifact);
  if (!news.reason.empty()) json.member("reason", news.reason);
  json.end_object();
}

namespace {

constexpr std::int64_t kUsualSteps = 3;
constexpr std::int64_t kMostStep = 1'000'000'000'000;
constexpr std::size_t kNewsBytes = 1000;  // bytes

tl::expected<std::int64_t, Response> read_steps(const Request& request) {
  const Parsed<Json> json = parse_body(request.body);
  if (!json) return tl::unexpected<Response>(bad_body(json.error()));
  RequestFields fields(request.body, *json);
  fields.only({"tool", "steps"});
  if (fields.text("tool").value_or("torch") != "torch")
    fields.wrong("tool", "torch: nsys and ncu start with the run (corral run --profile)");
  const std::int64_t steps =
      fields.has("steps") ? fields.count("steps", 1, kMostProfileSteps) : kUsualSteps;
  if (fields.error()) return tl::unexpected<Response>(bad_body(*fields.error()));
  return steps;
}

std::optional<std::int64_t> read_step(RequestFields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return fields.count(name, 0, kMostStep);
}

std::string profile_text(RequestFields& fields, std::string_view name) {
  std::string text = fields.text(name).value_or("");
  if (text.size() > kNewsBytes) fields.wrong(name, "a text of at most 1000 bytes");
  return text;
}

tl::expected<ProfileNews, Response> read_news(const Request& request) {
  const Parsed<Json> json = parse_body(request.body);
  if (!json) return tl::unexpected<Response>(bad_body(json.error()));
  RequestFields fields(request.body, *json);
  const auto state = fields.choice<ProfileState>("state", {{"waiting", ProfileState::kWaiting},
                                                           {"running", ProfileState::kRunning},
                                                           {"saving", ProfileState::kSaving},
                                                           {"done", ProfileState::kDone},
                                                           {"refused", ProfileState::kRefused},
                                                           {"failed", ProfileState::kFailed}});
  if (!state) fields.wrong("state", "waiting, running, saving, done, refused or failed");
  ProfileNews news{.state = state.value_or(ProfileState::kFailed),
                   .first = read_step(fields, "first"),
                   .last = read_step(fields, "last"),
                   .artifact = profile_text(fields, "artifact"),
                   .reason = profile_text(fields, "reason")};
  if (fields.error()) return tl::unexpected<Response>(bad_body(*fields.error()));
  return news;
}

Response profile_answer(const std::optional<ProfileAsk>& ask) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("profile");
  if (ask) {
    write_profile(json, *ask);
  } else {
    json.null();
  }
  json.end_object();
  return json_response(std::move(body));
}

// Null where the server keeps none: kUnsupported.
Result<RunId> named_run(const Request& request, Context& context) {
  if (context.profiles == nullptr)
    return fail(Code::kUnsupported, "this server asks no run for a profile");
  return query::select_run(context.reader, request.param("run"));
}

}  // namespace

Response profile(const Request& request, Context& context) {
  const Result<RunId> id = named_run(request, context);
  return id ? profile_answer(context.profiles->latest(*id)) : error_response(id.error());
}

Response ask_profile(const Request& request, Context& context) {
  const Result<RunId> id = named_run(request, context);
  if (!id) return error_response(id.error());
  const auto steps = read_steps(request);
  if (!steps) return steps.error();
  const auto run = context.reader.run(*id);
  if (!run) return error_response(run.error());
  if (*run && (*run)->status != store::RunStatus::kRunning) {
    return error_response(
        {Code::kConflict, fmt::format("run {} ({}) has ended: {}", (*run)->name, id->hex(),
                                      store::status_name((*run)->status))});
  }
  const auto asked = context.profiles->ask(*id, "torch", *steps);
  if (!asked) return error_response(asked.error());
  return profile_answer(*asked);
}

Response tell_profile(const Request& request, Context& context) {
  const Result<RunId> id = named_run(request, context);
  if (!id) return error_response(id.error());
  auto news = read_news(request);
  if (!news) return news.error();
  const auto told = context.profiles->tell(*id, request.param("id"), *std::move(news));
  if (!told) return error_response(told.error());
  return profile_answer(context.profiles->latest(*id));
}

}  // namespace corral::server::api
