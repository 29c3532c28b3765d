#include "run/schedule/recovery.h"

#include "run/gate.h"
#include "run/schedule/plan_journal.h"
#include "run/schedule/plan_lock.h"
#include "run/schedule/supervisor_launcher.h"
#include "spool/run_directory.h"

namespace corral::run::schedule {
namespace {

std::optional<spool::Manifest> manifest_of(const std::string& run, const RecoveryPlaces& places) {
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

std::optional<sys::ProcessIdentity> command_of(const std::string& run,
                                               const RecoveryPlaces& places) {
  const auto manifest = manifest_of(run, places);
  if (!manifest || !manifest->child || !sys::is_alive(*manifest->child)) return std::nullopt;
  return manifest->child;
}

std::vector<sys::ProcessIdentity> commands_of(const collocate::JournalOwner& owner) {
  std::vector<sys::ProcessIdentity> live;
  const auto book = PlanJournal::read(owner.plan);
  if (!book) return live;
  for (const Attempt* attempt : book->open()) {
    const auto command = command_of(attempt->run, {.spool_roots = owner.spool, .last_words = {}});
    if (command) live.push_back(*command);
  }
  return live;
}

std::string scheduler_of(const collocate::JournalOwner& owner) {
  return PlanLock::holder(owner.plan);
}

Remains remains_of(const Attempt& attempt, const RecoveryPlaces& places) {
  // The word is looked for first and last: a supervisor writes it before it ends.
  const auto word = [&]() -> std::optional<Remains> {
    const auto end = last_word_of(places.last_words, attempt.run);
    if (!end) return std::nullopt;
    return Remains{
        .kind = Remains::Kind::kEnded, .end = *end, .own_fault = end->reason != kSchedulerGone};
  };
  if (auto end = word()) return *end;
  const auto manifest = manifest_of(attempt.run, places);
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

}  // namespace corral::run::schedule
