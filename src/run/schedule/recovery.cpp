#include "run/schedule/recovery.h"

#include <fmt/core.h>

#include "core/json.h"
#include "run/gate.h"
#include "run/outcome.h"
#include "run/schedule/launcher.h"
#include "run/schedule/plan_journal.h"
#include "spool/run_directory.h"
#include "sys/clock.h"

namespace corral::run::schedule {
namespace {

std::optional<spool::Manifest> find_manifest(const std::string& run, const RecoveryPaths& places) {
  for (const auto& root : places.spool_roots) {
    auto manifest = spool::RunDirectory::read_manifest(root / run);
    if (manifest) return std::move(*manifest);
  }
  return std::nullopt;
}

Remains ended(std::string outcome, std::string reason) {
  return {.kind = Remains::Kind::kEnded,
          .end = {.outcome = std::move(outcome), .reason = std::move(reason)}};
}

}  // namespace

std::optional<sys::ProcessIdentity> find_command(const std::string& run,
                                                 const RecoveryPaths& places) {
  const auto manifest = find_manifest(run, places);
  if (!manifest || !manifest->child || !sys::is_alive(*manifest->child)) return std::nullopt;
  return manifest->child;
}

std::vector<sys::ProcessIdentity> commands_of(const collocate::JournalOwner& owner) {
  std::vector<sys::ProcessIdentity> live;
  const auto book = PlanJournal::read(owner.plan);
  if (!book) return live;
  for (const Attempt* attempt : book->open()) {
    const auto command = find_command(attempt->run, {.spool_roots = owner.spool, .last_words = {}});
    if (command) live.push_back(*command);
  }
  return live;
}

std::string scheduler_of(const collocate::JournalOwner& owner) {
  return PlanLock::holder(owner.plan);
}

Remains find_remains(const Attempt& attempt, const RecoveryPaths& places) {
  // The word is looked for first and last: a supervisor writes it before it ends.
  const auto word = [&]() -> std::optional<Remains> {
    const auto end = read_last_word(places.last_words, attempt.run);
    if (!end) return std::nullopt;
    return Remains{
        .kind = Remains::Kind::kEnded, .end = *end, .own_fault = end->reason != kSchedulerGone};
  };
  if (auto end = word()) return *end;
  const auto manifest = find_manifest(attempt.run, places);
  const bool started = attempt.started || (manifest && manifest->child);
  if (manifest && sys::is_alive(manifest->supervisor)) {
    return {
        .kind = Remains::Kind::kSupervised, .supervisor = manifest->supervisor, .started = started};
  }
  if (manifest && manifest->child && sys::is_alive(*manifest->child))
    return {.kind = Remains::Kind::kOrphaned};
  if (auto end = word()) return *end;
  if (!started) return {.kind = Remains::Kind::kNotStarted};
  if (manifest && manifest->supervisor.boot_id != sys::boot_id())
    return ended("interrupted", "the machine was restarted");
  return ended("unknown", "nobody saw its end");
}

namespace {

constexpr Nanos kServerStart{std::chrono::seconds(2)};  // longest time for starting a server
constexpr Nanos kServerAnswer{std::chrono::seconds(5)};
constexpr Nanos kAskAgain{std::chrono::milliseconds(100)};

std::optional<std::int64_t> number_in(const Json& run, const char* name) {
  const Json* value = run.find(name);
  return value == nullptr || value->is_null() ? std::nullopt : std::optional(run.get_int(name));
}

}  // namespace

std::optional<End> parse_recorded_end(const Json& run) {
  if (run.get_string("status") == "running") return std::nullopt;
  const std::string outcome = run.get_string("outcome");
  if (!outcome.empty() && outcome != outcome_name(OutcomeKind::kUnknown)) {
    const Json* tags = run.find("tags");
    const Json none;
    return End{.outcome = outcome,
               .reason = (tags != nullptr ? *tags : none).get_string("corral.outcome.reason")};
  }
  if (const auto code = number_in(run, "exit_code")) {
    if (*code == 0) return End{.outcome = "finished"};
    return End{.outcome = "failed", .reason = fmt::format("exit status {}", *code)};
  }
  if (const auto signal = number_in(run, "exit_signal"))
    return End{.outcome = "killed", .reason = fmt::format("signal {}", *signal)};
  return std::nullopt;
}

std::optional<End> RecordedEnds::find(const std::string& run) {
  if (patience_ <= Nanos(0)) return std::nullopt;
  const BootTime began = sys::boot_now();
  std::optional<End> end;
  for (bool again = true; again;) {
    const auto server = link_.connect(kServerStart);
    const auto reply =
        server && (*server)->http() != nullptr
            ? (*server)->http()->send(
                  {.path = "/api/corral/v1/runs/" + run, .body = {}, .timeout = kServerAnswer})
            : tl::unexpected(Error{Code::kUnavailable, "no server"});
    if (!reply) link_.drop();
    const auto answer = reply && reply->status == 200 ? Json::parse(reply->body) : Result<Json>();
    if (answer && answer->as_object() != nullptr) end = parse_recorded_end(*answer);
    const bool may_come = !reply || (answer && answer->get_string("status") == "running");
    again = !end && may_come && sys::boot_now() - began < patience_;
    if (again) sys::system_clock().sleep_until(sys::boot_now() + kAskAgain);
  }
  patience_ = std::max(Nanos(0), patience_ - (sys::boot_now() - began));
  return end;
}

}  // namespace corral::run::schedule
