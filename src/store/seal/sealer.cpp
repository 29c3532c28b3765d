#include "store/seal/sealer.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "store/remove/remove.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::store::sql {
namespace {

using std::chrono::seconds;

// A session's batch rows are sealed when there is this much of them, or when the first is this old.
constexpr std::size_t kSealBytes = 4u << 20;
constexpr std::size_t kSealRows = 256;
constexpr Nanos kSealAge = seconds(10);
// Silent for so long, a session of a run that ended is settled; of one that runs, so long.
constexpr Nanos kSilent = seconds(30);
constexpr Nanos kVerySilent = std::chrono::minutes(10);
constexpr Nanos kPause = seconds(5);  // after an error
constexpr Nanos kRepairPause = std::chrono::minutes(10);
// Interval of looking for other servers' removals.
constexpr Nanos kCleanEvery = seconds(60);
// Interval of looking for rows that another server on the same database has left unsealed for that
// time.
constexpr Nanos kLookEvery = seconds(60);
constexpr int kAttempts = 5;
constexpr std::int64_t kNoSession = 0;
constexpr Nanos kTick = std::chrono::milliseconds(250);
// Bytes of waiting batch rows beyond which append() is slowed down.
constexpr std::size_t kMostBacklog = 64u << 20;
constexpr Nanos kMostPace = std::chrono::milliseconds(50);
// Room of deleted rows that is kept for the next batch rows.
constexpr std::int64_t kSpareRoom = 16 << 20;

}  // namespace

Sealer::Sealer(Readers& readers, Writer& writer, Repair repair)
    : readers_(readers),
      writer_(writer),
      repair_(std::move(repair)),
      thread_(sys::require_thread("the sealer", [this] {
        while (!sys::guard_call("the sealer", [this] { loop(); })) sys::pause_after_failure({});
      })) {}

Sealer::~Sealer() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  thread_.join();
}

void Sealer::note(std::int64_t session, std::size_t bytes) {
  const BootTime now = sys::boot_now();
  const Lock lock(mutex_);
  add(session);
  change(session, [&](Waiting& waiting) {
    if (waiting.rows == 0) waiting.first = now;
    ++waiting.rows;
    waiting.bytes += bytes;
    waiting.newest = now;
    if (waiting.bytes >= kSealBytes) work_.notify_one();
  });
  backlog_ += bytes;
}

// Full ones before those that wait, and these before those that are silent.
Sealer::Turn Sealer::turn_of(std::int64_t session, const Waiting& waiting) {
  Turn turn{.rank = Rank::kSilent,
            .due = std::max(waiting.newest + kSilent, waiting.look_again),
            .session = session};
  if (waiting.bytes >= kSealBytes || waiting.rows >= kSealRows) {
    turn.rank = Rank::kFull;
    turn.due = waiting.first;
  } else if (waiting.rows > 0) {
    turn.rank = Rank::kWaits;
    turn.due = waiting.first + kSealAge;
  }
  turn.due = std::max(turn.due, waiting.not_before);
  return turn;
}

void Sealer::add(std::int64_t session) {
  const auto [entry, fresh] = waiting_.try_emplace(session);
  if (fresh) turns_.insert(turn_of(session, entry->second));
}

// Does nothing when the session does not wait.
template <class Edit>
void Sealer::change(std::int64_t session, Edit&& edit) {
  const auto known = waiting_.find(session);
  if (known == waiting_.end()) return;
  const Turn before = turn_of(session, known->second);
  edit(known->second);
  const Turn after = turn_of(session, known->second);
  if (after == before) return;
  turns_.erase(before);
  turns_.insert(after);
}

void Sealer::pace() {
  Lock lock(mutex_);
  room_.wait_for(lock.native(), kMostPace,
                 [&]() REQUIRES(mutex_) { return stopping_ || backlog_ < kMostBacklog; });
}

StoreActivity Sealer::waiting() const {
  const Lock lock(mutex_);
  StoreActivity activity;
  for (const auto& [session, waiting] : waiting_) {
    activity.waiting_rows += waiting.rows;
    activity.waiting_bytes += waiting.bytes;
  }
  return activity;
}

std::string Sealer::problem() const {
  const Lock lock(mutex_);
  return problems_.empty() ? std::string() : problems_.begin()->second;
}

// Empty: none.
void Sealer::set_problem(std::int64_t session, std::string problem) {
  if (problem.empty())
    problems_.erase(session);
  else
    problems_.insert_or_assign(session, std::move(problem));
}

void Sealer::loop() {
  ::pthread_setname_np(::pthread_self(), "corral-sealer");
  for (;;) {
    std::optional<Task> task;
    {
      Lock lock(mutex_);
      if (stopping_) return;
      task = next_task();
      if (!task && !spare_room_ && !time_to_clean()) work_.wait_for(lock.native(), kTick);
    }
    try {
      if (sys::boot_now() >= look_at_) find_left_over();
      clean();
      task ? run(*task) : static_cast<void>(reclaim());
    } catch (const std::exception& e) {
      sys::note_thread_failure("the sealer", e.what());
      const Lock lock(mutex_);
      set_problem(kNoSession, std::string("sealing: ") + e.what());
    }
  }
}

// True when there is more to give back.
bool Sealer::reclaim() {
  std::int64_t keep = 0;
  {
    const Lock lock(mutex_);
    if (!std::exchange(spare_room_, false)) return false;
    if (!waiting_.empty()) keep = kSpareRoom;
  }
  bool more = false;
  const auto done = writer_.transact([&](Connection& db) -> Result<> {
    more = TRY(db.reclaim(keep));
    return {};
  });
  if (!done || !more) return false;
  const Lock lock(mutex_);
  return spare_room_ = true;
}

// Finds rows that an earlier process stored and did not seal. On a database of several servers,
// repeated calls find the rows that no server has sealed since the last call.
void Sealer::find_left_over() {
  look_at_ = sys::boot_now() + kPause;
  const auto found = readers_.with([&](Connection& db) { return find_left_over_rows(db, seen_); });
  if (!found) return;
  seen_ = found->newest;
  const BootTime now = sys::boot_now();
  look_at_ = found->shared ? now + kLookEvery : BootTime::max();
  const Lock lock(mutex_);
  for (const std::int64_t session : found->sessions) {
    if (waiting_.contains(session)) continue;
    add(session);
    change(session, [&](Waiting& waiting) {
      waiting.rows = 1;
      waiting.first = waiting.newest = now;
    });
  }
}

// Returns the longest waiting session of the first rank that is due.
std::optional<Sealer::Task> Sealer::next_task() {
  const BootTime now = sys::boot_now();
  for (const Rank rank : {Rank::kFull, Rank::kWaits, Rank::kSilent}) {
    const auto first = turns_.lower_bound({.rank = rank, .due = BootTime::min(), .session = 0});
    if (first == turns_.end() || first->rank != rank || first->due > now) continue;
    const Waiting& waiting = waiting_.at(first->session);
    const bool silent = now - waiting.newest >= kSilent && now >= waiting.look_again;
    return Task{.session = first->session, .settle = silent, .asked = false};
  }
  return std::nullopt;
}

void Sealer::run(const Task& task) {
  const Result<> done = [&]() -> Result<> {
    try {
      return seal_or_repair(task);
    } catch (const std::exception& e) {
      return fail(Code::kInternal, e.what());
    }
  }();
  const Lock lock(mutex_);
  const bool passing = !done && (done.error().code == Code::kConflict || stopping_);
  set_problem(task.session, done || passing ? "" : "sealing: " + done.error().message);
  if (done) return;
  change(task.session, [](Waiting& waiting) { waiting.not_before = sys::boot_now() + kPause; });
}

// A running session may be silent for long and then continue: its remaining rows are not rewritten
// each time.
Result<bool> Sealer::may_settle(std::int64_t session, Nanos silent) {
  if (silent >= kVerySilent) return true;
  const auto ended = TRY(readers_.with([&](Connection& db) {
    return db.number(
        "SELECT count(*) FROM sessions s JOIN runs r ON r.key = s.run WHERE s.key = ?1 AND "
        "r.status = 0",
        session);
  }));
  return ended.value_or(0) == 0;
}

// Seals the rows that exist now, even if others arrive meanwhile.
Result<> Sealer::seal_batches(std::int64_t session) {
  const auto left = [&](std::int64_t newest) {
    return readers_.with([&](Connection& db) {
      return db.number(
          "SELECT max(id) FROM batches WHERE session = ?1 AND damaged = 0 AND id <= ?2", session,
          newest);
    });
  };
  const auto newest = TRY(left(std::numeric_limits<std::int64_t>::max()));
  bool more = newest.has_value();
  while (more) {
    auto plan = readers_.with(
        [&](Connection& db) { return plan_batches(db, session, RowGroupState::kOpen); });
    more = TRY(apply(std::move(plan))) && TRY(left(*newest));
  }
  return {};
}

Result<> Sealer::seal_slice(const SliceKey& key, RowGroupState state) {
  bool more = true;
  while (more) {
    auto plan = readers_.with([&](Connection& db) { return plan_row_groups(db, key, state); });
    more = TRY(apply(std::move(plan)));
  }
  return {};
}

Result<> Sealer::seal(const Task& task) {
  Nanos silent = kVerySilent;
  {
    const Lock lock(mutex_);
    change(task.session, [&](Waiting& waiting) REQUIRES(mutex_) {
      backlog_ -= std::min(backlog_, waiting.bytes);
      silent = sys::boot_now() - waiting.newest;
      waiting.rows = 0;
      waiting.bytes = 0;
    });
  }
  room_.notify_all();
  const bool settle = task.settle && (task.asked || TRY(may_settle(task.session, silent)));
  const RowGroupState state = settle ? RowGroupState::kSettled : RowGroupState::kOpen;
  TRY(seal_batches(task.session));
  const auto slices =
      TRY(readers_.with([&](Connection& db) { return read_slices(db, task.session); }));
  // A slice that cannot be sealed keeps no other from it.
  Result<> done;
  for (const std::int64_t slice : slices) {
    const Result<> sealed = seal_slice({.session = task.session, .slice = slice}, state);
    if (!sealed && done) done = sealed;
  }
  if (!done) return done;
  const Lock lock(mutex_);
  change(task.session, [](Waiting& waiting) { waiting.look_again = sys::boot_now() + kSilent; });
  if (const auto known = waiting_.find(task.session);
      settle && known != waiting_.end() && known->second.rows == 0) {
    turns_.erase(turn_of(task.session, known->second));
    waiting_.erase(known);
  }
  spare_room_ = true;
  return {};
}

void Sealer::note_removal() {
  const Lock lock(mutex_);
  clean_at_ = sys::boot_now();
  work_.notify_one();
}

bool Sealer::time_to_clean() { return sys::boot_now() >= clean_at_; }

// One small transaction, if there is something to delete.
void Sealer::clean() {
  {
    const Lock lock(mutex_);
    if (stopping_ || !time_to_clean()) return;
    clean_at_ = sys::boot_now() + kCleanEvery;
  }
  const Result<bool> more = clean_slice();
  const Lock lock(mutex_);
  const BootTime now = sys::boot_now();
  if (!more) {
    set_problem(kNoSession, "removing runs: " + more.error().message);
    clean_at_ = now + kPause;
    return;
  }
  set_problem(kNoSession, "");
  if (*more) clean_at_ = now;
}

// True: there is more.
Result<bool> Sealer::clean_slice() {
  if (!TRY(readers_.with(anything_to_clean))) return false;
  bool more = true;
  const auto done = writer_.transact([&](Connection& db) -> Result<> {
    more = TRY(clean_removed(db, sys::boot_now() + kRemovalSlice));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  const Lock lock(mutex_);
  spare_room_ = true;
  return more;
}

Result<> Sealer::clean_all() {
  while (TRY(clean_slice())) {
  }
  return {};
}

// True when there was something to do.
Result<bool> Sealer::apply(Result<std::optional<SealPlan>> plan) {
  if (!plan) return tl::unexpected(plan.error());
  if (!*plan) return false;
  {
    const Lock lock(mutex_);
    if (stopping_) return fail(Code::kUnavailable, "the store is closing");
  }
  TRY(writer_.transact([&](Connection& db) { return write_plan(db, **plan); }));
  return true;
}

Result<> Sealer::seal_or_repair(const Task& task) {
  const Lock one(sealing_);
  Result<> done = seal(task);
  if (done || done.error().code != Code::kCorruption || !repair_) return done;
  {
    const Lock lock(mutex_);
    BootTime& again = repair_again_[task.session];
    if (sys::boot_now() < again) return done;
    again = sys::boot_now() + kRepairPause;
  }
  auto repaired = writer_.transact([&](Connection& db) { return repair_(db, task.session); });
  if (!repaired) {
    const Lock lock(mutex_);
    repair_again_[task.session] = sys::boot_now() + kPause;
    return repaired;
  }
  return seal(task);
}

// Another server, or a removal, may have come between.
Result<> Sealer::seal_patiently(const Task& task) {
  Result<> done;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    done = seal_or_repair(task);
    if (done || done.error().code != Code::kConflict) break;
  }
  return done;
}

Result<> Sealer::seal_all(bool settle) {
  const auto sessions = TRY(readers_.with(
      [](Connection& db) { return db.numbers("SELECT key FROM sessions ORDER BY key"); }));
  for (const std::int64_t session : sessions)
    TRY(seal_patiently({.session = session, .settle = settle, .asked = true}));
  TRY(clean_all());
  while (settle && reclaim()) {
  }
  return {};
}

}  // namespace corral::store::sql
