#include "run/supervise/accounting.h"

#include <pthread.h>

#include <memory>

#include "collocate/undo.h"
#include "core/text.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// Runs on a thread, or, without one, when the result is read.
constexpr std::launch kLaunch = std::launch::async | std::launch::deferred;

}  // namespace

Accounting::MadeGroup Accounting::make(const std::string& run) {
  ::pthread_setname_np(::pthread_self(), "corral-group");
  MadeGroup made;
  const sys::fs::path state = collocate::default_state();
  // No group is noted on a network filesystem: other hosts would take the note for theirs, and a
  // start never waits for a network.
  const auto kind = sys::filesystem_of(state);
  if (kind && kind->network) {
    made.reason = state.string() + " is on " + kind->name + ", a network filesystem";
    return made;
  }
  // Groups end at a reboot: nothing has to wait for the disk.
  auto journal = collocate::Journal::open(state, false);
  if (!journal) {
    made.reason = journal.error().message;
    return made;
  }
  made.journal = std::move(*journal);
  auto group = collocate::account_group(*made.journal, {.root = "/", .label = run, .busctl = {}});
  if (group) {
    made.group = std::move(*group);
    made.group->await_grace();
  } else {
    made.reason = group.error().message;
  }
  return made;
}

void Accounting::begin(const std::string& run) {
  // Copied: without a thread settle() calls it, and std::async has consumed the first one.
  const auto work = [run] { return make(run); };
  const sys::SignalsBlocked blocked;
  making_ = std::async(kLaunch, work);
}

void Accounting::enter(pid_t pid) {
  if (!making_.valid()) return;
  const auto work = [pid, making = std::make_shared<std::future<MadeGroup>>(std::move(making_))] {
    MadeGroup made = making->get();
    if (!made.group) return made;
    if (const auto entered = made.group->enter(pid); !entered) {
      made.reason = entered.error().message;
    }
    return made;
  };
  const sys::SignalsBlocked blocked;
  making_ = std::async(kLaunch, work);
}

void Accounting::settle() {
  if (making_.valid()) made_ = making_.get();
  reason_ = made_.reason;
}

std::vector<sys::fs::path> Accounting::groups() const {
  std::vector<sys::fs::path> found;
  if (!made_.group) return found;
  for (const std::string_view directory : split(made_.group->target(), ':')) {
    if (!directory.empty()) found.emplace_back(directory);
  }
  return found;
}

// Removes the group; changes that cannot be undone stay in the journal.
void Accounting::put_back(bool end_runs) {
  if (!made_.journal) return;
  collocate::UndoOptions options;
  options.end_runs = end_runs;
  [[maybe_unused]] const auto back = collocate::put_back(*made_.journal, 0, options);
  [[maybe_unused]] const auto closed = made_.journal->close();
  made_ = {};
}

void Accounting::end() {
  settle();
  if (made_.group) made_.group->release_members();
  const bool journalled = made_.journal.has_value();
  put_back(false);
  if (!journalled) return;
  // Removes groups of supervisors that were killed; groups in use stay.
  collocate::UndoOptions others;
  others.state = collocate::default_state();
  [[maybe_unused]] const auto report = collocate::undo_all(others);
}

void Accounting::discard() {
  settle();
  put_back(true);
}

}  // namespace corral::run
