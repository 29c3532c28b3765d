#include "store/sql/sealer.h"

#include <pthread.h>

#include <algorithm>
#include <exception>

#include "store/sql/levels.h"
#include "store/sql/seal_reads.h"
#include "sys/clock.h"

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
constexpr Nanos kTick = std::chrono::milliseconds(250);
// Of batch rows that wait, beyond which append() is slowed down.
constexpr std::size_t kMostBacklog = 64u << 20;
constexpr Nanos kMostPace = std::chrono::milliseconds(50);

}  // namespace

Sealer::Sealer(Readers& readers, Writer& writer)
    : readers_(readers), writer_(writer), thread_([this] { loop(); }) {}

Sealer::~Sealer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  thread_.join();
}

void Sealer::note(std::int64_t session, std::size_t bytes) {
  const BootTime now = sys::boot_now();
  const std::scoped_lock lock(mutex_);
  Waiting& waiting = waiting_[session];
  if (waiting.rows == 0) waiting.first = now;
  ++waiting.rows;
  waiting.bytes += bytes;
  waiting.newest = now;
  waiting.settled = false;
  backlog_ += bytes;
  if (waiting.bytes >= kSealBytes) work_.notify_one();
}

void Sealer::pace() {
  std::unique_lock lock(mutex_);
  room_.wait_for(lock, kMostPace, [&] { return stopping_ || backlog_ < kMostBacklog; });
}

std::string Sealer::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

void Sealer::loop() {
  ::pthread_setname_np(::pthread_self(), "corral-sealer");
  find_left_over();
  for (;;) {
    std::optional<Task> task;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      task = next_task();
      if (!task) work_.wait_for(lock, kTick);
    }
    if (task) run(*task);
  }
}

// What an earlier process stored and did not seal.
void Sealer::find_left_over() {
  const auto sessions = readers_.with([](Connection& db) -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> found;
    Statement row =
        TRY(db.query("SELECT DISTINCT session FROM batches UNION "
                     "SELECT DISTINCT session FROM row_groups WHERE state = 0"));
    while (TRY(row.step())) found.push_back(row.integer(0));
    return found;
  });
  if (!sessions) return;
  const BootTime now = sys::boot_now();
  const std::scoped_lock lock(mutex_);
  for (const std::int64_t session : *sessions) {
    const auto [entry, fresh] = waiting_.try_emplace(session);
    if (!fresh) continue;
    entry->second.rows = 1;
    entry->second.first = entry->second.newest = now;
  }
}

// The session that waits longest; with mutex_ held.
std::optional<Sealer::Task> Sealer::next_task() {
  const BootTime now = sys::boot_now();
  std::optional<Task> best;
  BootTime oldest = BootTime::max();
  for (const auto& [session, waiting] : waiting_) {
    if (now < waiting.not_before) continue;
    const bool full = waiting.bytes >= kSealBytes || waiting.rows >= kSealRows;
    const bool old = waiting.rows > 0 && now - waiting.first >= kSealAge;
    const bool silent = !waiting.settled && now - waiting.newest >= kSilent;
    if (!full && !old && !silent) continue;
    const BootTime since = waiting.rows > 0 ? waiting.first : waiting.newest;
    if (since >= oldest) continue;
    oldest = since;
    best = Task{.session = session, .settle = silent, .all = false};
  }
  return best;
}

void Sealer::run(const Task& task) {
  const Result<> done = [&]() -> Result<> {
    try {
      return seal(task);
    } catch (const std::exception& e) {
      return fail(Code::kInternal, e.what());
    }
  }();
  const std::scoped_lock lock(mutex_);
  const bool conflict = !done && done.error().code == Code::kConflict;
  problem_ = done || conflict ? "" : "sealing: " + done.error().message;
  if (!done) waiting_[task.session].not_before = sys::boot_now() + kPause;
}

// A running session may fall silent for long and then go on: its rest is not written anew each
// time.
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

Result<> Sealer::seal(const Task& task) {
  const std::scoped_lock one(sealing_);
  Nanos silent{0};
  {
    const std::scoped_lock lock(mutex_);
    Waiting& waiting = waiting_[task.session];
    backlog_ -= std::min(backlog_, waiting.bytes);
    silent = sys::boot_now() - waiting.newest;
    waiting.rows = 0;
    waiting.bytes = 0;
  }
  room_.notify_all();
  const bool settle = task.settle && TRY(may_settle(task.session, silent));
  const RowGroupState state = settle ? RowGroupState::kSettled : RowGroupState::kOpen;
  bool more = true;
  while (more) {
    auto plan = readers_.with(
        [&](Connection& db) { return plan_batches(db, task.session, RowGroupState::kOpen); });
    more = TRY(apply(std::move(plan))) && (settle || task.all);
  }
  const auto slices =
      TRY(readers_.with([&](Connection& db) { return slices_of(db, task.session); }));
  for (const std::int64_t slice : slices) {
    more = true;
    while (more) {
      auto plan = readers_.with([&](Connection& db) {
        return plan_row_groups(db, {.session = task.session, .slice = slice}, state);
      });
      more = TRY(apply(std::move(plan)));
    }
  }
  const std::scoped_lock lock(mutex_);
  Waiting& waiting = waiting_[task.session];
  if (waiting.rows == 0 && settle) waiting_.erase(task.session);
  return {};
}

// True when there was something to do.
Result<bool> Sealer::apply(Result<std::optional<SealPlan>> plan) {
  if (!plan) return tl::unexpected(plan.error());
  if (!*plan) return false;
  TRY(writer_.transact([&](Connection& db) { return write_plan(db, **plan); }));
  return true;
}

Result<> Sealer::seal_all(bool settle) {
  const auto sessions = readers_.with([](Connection& db) -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> found;
    Statement row = TRY(db.query("SELECT key FROM sessions ORDER BY key"));
    while (TRY(row.step())) found.push_back(row.integer(0));
    return found;
  });
  if (!sessions) return tl::unexpected(sessions.error());
  for (const std::int64_t session : *sessions) {
    {
      const std::scoped_lock lock(mutex_);
      if (settle) waiting_[session].newest = BootTime(Nanos(0));
    }
    TRY(seal({.session = session, .settle = settle, .all = true}));
  }
  return {};
}

}  // namespace corral::store::sql
