// Profiles on request: a page asks, the run's supervisor receives the request and reports its
// progress.
#include <fmt/core.h>

#include "core/ids.h"
#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "server/core/profile_requests.h"

namespace corral::server::api {

void write_profile(JsonWriter& json, const ProfileRequest& profile) {
  const ProfileReport& report = profile.report;
  json.begin_object().member("run", profile.run.hex()).member("id", profile.id);
  json.member("tool", profile.tool).member("steps", profile.steps);
  write_time(json, "asked_ns", profile.asked);
  json.member("state", profile_state_name(report.state));
  if (report.first && report.last) json.member("first", *report.first).member("last", *report.last);
  if (!report.artifact.empty()) json.member("artifact", report.artifact);
  if (!report.reason.empty()) json.member("reason", report.reason);
  json.end_object();
}

namespace {

constexpr std::int64_t kUsualSteps = 3;
constexpr std::int64_t kMostStep = 1'000'000'000'000;
constexpr std::size_t kTextBytes = 1000;  // bytes

Parsed<std::int64_t> read_steps(const Request& request) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"tool", "steps"});
  if (fields.text("tool").value_or("torch") != "torch")
    fields.wrong("tool", "torch: nsys and ncu start with the run (corral run --profile)");
  const std::int64_t steps =
      fields.has("steps") ? fields.count("steps", 1, kMostProfileSteps) : kUsualSteps;
  return fields.finish(steps);
}

std::optional<std::int64_t> read_step(RequestFields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return fields.count(name, 0, kMostStep);
}

std::string profile_text(RequestFields& fields, std::string_view name) {
  std::string text = fields.text(name).value_or("");
  if (text.size() > kTextBytes) fields.wrong(name, "a text of at most 1000 bytes");
  return text;
}

Parsed<ProfileReport> read_report(const Request& request) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  const auto state = fields.choice<ProfileState>("state", {{"waiting", ProfileState::kWaiting},
                                                           {"running", ProfileState::kRunning},
                                                           {"saving", ProfileState::kSaving},
                                                           {"done", ProfileState::kDone},
                                                           {"refused", ProfileState::kRefused},
                                                           {"failed", ProfileState::kFailed}});
  if (!state) fields.wrong("state", "waiting, running, saving, done, refused or failed");
  ProfileReport report{.state = state.value_or(ProfileState::kFailed),
                       .first = read_step(fields, "first"),
                       .last = read_step(fields, "last"),
                       .artifact = profile_text(fields, "artifact"),
                       .reason = profile_text(fields, "reason")};
  return fields.finish(std::move(report));
}

Response profile_response(const std::optional<ProfileRequest>& profile) {
  return object_response([&](JsonWriter& json) {
    json.key("profile");
    profile ? write_profile(json, *profile) : static_cast<void>(json.null());
  });
}

// kUnsupported where the server keeps no requests.
Result<RunId> find_run(const Request& request, Context& context) {
  if (context.profiles == nullptr)
    return fail(Code::kUnsupported, "this server asks no run for a profile");
  return requested_run(request, context);
}

}  // namespace

Answer profile(const Request& request, Context& context) {
  const RunId id = TRY(find_run(request, context));
  return profile_response(context.profiles->latest(id));
}

Answer request_profile(const Request& request, Context& context) {
  const RunId id = TRY(find_run(request, context));
  const std::int64_t steps = TRY_PARSED(read_steps(request));
  const auto run = TRY(context.reader.run(id));
  if (run && run->status != store::RunStatus::kRunning) {
    return fail(Code::kConflict, fmt::format("run {} ({}) has ended: {}", run->name, id.hex(),
                                             store::status_name(run->status)));
  }
  return profile_response(TRY(context.profiles->add(id, "torch", steps)));
}

Answer report_profile(const Request& request, Context& context) {
  const RunId id = TRY(find_run(request, context));
  ProfileReport report = TRY_PARSED(read_report(request));
  TRY(context.profiles->report(id, request.param("id"), std::move(report)));
  return profile_response(context.profiles->latest(id));
}

}  // namespace corral::server::api
