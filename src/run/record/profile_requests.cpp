#include "run/record/profile_requests.h"

#include <fmt/core.h>

#include <utility>

#include "core/text.h"
#include "sys/clock.h"
#include "upload/source.h"

namespace corral::run {
namespace {

constexpr Nanos kTakenWithin{std::chrono::minutes(1)};
// Pause between two reports to the server while a request is pending.
constexpr Nanos kSignOfLife{std::chrono::seconds(15)};
constexpr Nanos kTellAgain{std::chrono::seconds(2)};
constexpr Nanos kAskPause{std::chrono::seconds(2)};
constexpr Nanos kNoAnswerPause{std::chrono::seconds(10)};
constexpr Nanos kAnswerTime{std::chrono::seconds(2)};
// A process that accepted a request and is silent for so long has ended.
constexpr Nanos kSilence{std::chrono::hours(1)};
constexpr std::size_t kMostReason = 1000;  // the server's limit, in bytes
constexpr std::size_t kMostRequest = 1u << 16;

std::string shortened(const std::string& reason) {
  if (reason.size() <= kMostReason) return reason;
  std::string cut = reason.substr(0, kMostReason);
  cut.resize(cut.size() - incomplete_utf8_tail(cut));
  return cut;
}

}  // namespace

std::string ProfileRequests::path() const {
  return fmt::format("/api/corral/v1/runs/{}/profile", directory_.manifest().run.hex());
}

void ProfileRequests::step(const upload::StepReport& round, sys::HttpClient* server, bool ended) {
  if (server == nullptr) return;
  if (!std::exchange(adopted_, true) && directory_.manifest().adoptions > 0) adopt_request(ended);
  for (const upload::RequestedProfile& profile : round.profiles) accept(profile, ended);
  if (round.frames_sent > 0 || current_) next_ask_ = sys::boot_now() + kAskPause;
  if (!ended && sys::boot_now() >= next_ask_) poll_server(*server, ended);
  if (!current_) return;
  if (!current_->over) read_answer(ended);
  if (sys::boot_now() >= current_->next_report) send_report(*server);
}

// Adopts a request of a former supervisor: without an owner it would block every other one.
void ProfileRequests::adopt_request(bool ended) {
  const auto text = directory_.files().read_file("profile/request", kMostRequest);
  auto request = text ? Json::parse(*text) : tl::unexpected(text.error());
  if (!request || request->as_object() == nullptr) return;
  request->set("run", directory_.manifest().run.hex());
  const auto profile = upload::parse_requested_profile(*request);
  if (profile && spool::ProfileRequest(directory_.files(), profile->id).withdraw())
    accept(*profile, ended);
}

// Returns the reason why a request cannot be fulfilled, as far as it is known at once.
std::optional<std::string> ProfileRequests::reason_to_refuse(
    const upload::RequestedProfile& profile, bool ended) const {
  if (ended) return "the run has ended";
  if (profile.tool != "torch")
    return fmt::format("its `corral run` knows no profiler {} that starts on demand", profile.tool);
  const bool seen = directory_.files().directory("profile").has_value();
  if (seen && upload::segment_sessions(directory_).empty())
    return "none of its processes has loaded Corral's Python package and begun a step or logged";
  return std::nullopt;
}

void ProfileRequests::accept(const upload::RequestedProfile& profile, bool ended) {
  if (current_ || profile.run != directory_.manifest().run || profile.id == latest_) return;
  latest_ = profile.id;
  const BootTime now = sys::boot_now();
  current_.emplace(Current{.request = {directory_.files(), profile.id},
                           .report = {.state = "waiting"},
                           .give_up = now + kTakenWithin,
                           .next_report = now});
  if (auto why = reason_to_refuse(profile, ended)) return end_waiting(*std::move(why));
  if (const auto asked = current_->request.ask(profile.steps); !asked)
    end_waiting(asked.error().message);
}

void ProfileRequests::end_waiting(std::string reason) {
  current_->over = true;
  current_->next_report = sys::boot_now();
  current_->report.state = current_->taken ? "failed" : "refused";
  current_->report.reason = std::move(reason);
}

void ProfileRequests::apply(const Json& line) {
  Report& report = current_->report;
  const std::string state = line.get_string("state");
  current_->taken = true;
  current_->next_report = sys::boot_now();
  current_->give_up = sys::boot_now() + kSilence;
  current_->over = state == "done" || state == "failed";
  report.state = state == "begun" ? "running" : state;
  if (line.find("first") != nullptr) report.first = line.get_int("first");
  if (line.find("last") != nullptr) report.last = line.get_int("last");
  report.artifact = line.get_string("artifact");
  report.reason = line.get_string("reason");
}

void ProfileRequests::read_answer(bool ended) {
  for (;;) {
    const auto line = current_->request.next();
    if (!line) return end_waiting(line.error().message);
    if (!*line) break;
    apply(**line);
    if (current_->over) return;
  }
  if (ended) {
    [[maybe_unused]] const bool back = current_->request.withdraw();
    return end_waiting("the run has ended meanwhile");
  }
  if (sys::boot_now() < current_->give_up) return;
  if (current_->taken) {
    end_waiting(
        fmt::format("the process that took it has said nothing for {:g} s", seconds(kSilence)));
  } else if (current_->request.withdraw()) {
    end_waiting(fmt::format(
        "no step ended within {:g} s, or another profile is being made: profiles go from step to "
        "step of a Python process",
        seconds(kTakenWithin)));
  } else {
    current_->taken = true;  // the process took it just now
    current_->give_up = sys::boot_now() + kSilence;
  }
}

// Repeats a report that got no answer; a rejected report is not repeated.
void ProfileRequests::send_report(sys::HttpClient& server) {
  const Report& report = current_->report;
  Json body = Json::Object{{"state", report.state}};
  if (report.first) body.set("first", *report.first);
  if (report.last) body.set("last", *report.last);
  if (!report.artifact.empty()) body.set("artifact", report.artifact);
  if (!report.reason.empty()) body.set("reason", shortened(report.reason));
  const std::string text = body.dump();
  const auto reply = server.send({.method = "PUT",
                                  .path = path() + "/" + current_->request.id(),
                                  .body = text,
                                  .timeout = kAnswerTime});
  const bool arrived = reply && reply->status < 500;
  current_->next_report = sys::boot_now() + (arrived ? kSignOfLife : kTellAgain);
  if (arrived && current_->over) current_.reset();
}

void ProfileRequests::poll_server(sys::HttpClient& server, bool ended) {
  const auto reply = server.send({.path = path(), .body = {}, .timeout = kAnswerTime});
  next_ask_ = sys::boot_now() + (reply ? kAskPause : kNoAnswerPause);
  if (!reply || reply->status != 200) return;
  const auto json = Json::parse(reply->body);
  const Json* asked = json ? json->find("profile") : nullptr;
  if (asked == nullptr || asked->get_string("state") != "asked") return;
  if (const auto profile = upload::parse_requested_profile(*asked)) accept(*profile, ended);
}

}  // namespace corral::run
