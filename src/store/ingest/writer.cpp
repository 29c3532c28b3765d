#include "store/ingest/writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/failpoint.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::store::sql {
namespace {

constexpr std::size_t kQueue = 256;
// Bytes of one transaction: bounds the log and how long one caller waits for the others.
constexpr std::size_t kGroupBytes = 4u << 20;
constexpr int kAttempts = 5;
// Waits stay short for this long after a row was found locked by another process. The locks of a
// process that disappeared are released after 15 to 25 seconds.
constexpr Nanos kHurry = std::chrono::seconds(3);

// Errors that another process's writes or a lost connection cause.
bool passing(const Error& error) {
  return error.code == Code::kConflict || error.code == Code::kUnavailable;
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> database, Intact intact, Stored stored)
    : database_(std::move(database)),
      ingest_(*database_),
      intact_(std::move(intact)),
      stored_(std::move(stored)),
      thread_(sys::require_thread("the store's writer", [this] {
        while (!sys::guard_call("the store's writer", [this] { loop(); }))
          sys::pause_after_failure({});
      })) {}

Writer::~Writer() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  thread_.join();
}

Result<AppendResult> Writer::append(std::span<const codec::Frame> frames, const Change& before,
                                    const Sender& sender) {
  Job job;
  job.sender = &sender;
  job.frames = frames;
  if (before) job.before = &before;
  return wait_for(job);
}

Result<> Writer::transact(const Write& write, Sessions sessions) {
  Job job;
  job.write = &write;
  job.sessions = sessions;
  const auto done = wait_for(job);
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<AppendResult> Writer::wait_for(Job& job) {
  const std::vector<Job*> alone = {&job};
  Lock lock(mutex_);
  room_.wait(lock.native(), [&]() REQUIRES(mutex_) { return stopping_ || queue_.size() < kQueue; });
  if (stopping_) return fail(Code::kUnavailable, "the store is closing");
  if (!writing_ && !calls_meet_ && queue_.empty()) {
    writing_ = true;
    lock.unlock();
    write_group(alone);
    lock.lock();
    end_round(1);
  } else {
    queue_.push_back(&job);
    work_.notify_one();
    done_.wait(lock.native(), [&] { return job.result.has_value(); });
  }
  return *std::move(job.result);
}

void Writer::end_round(std::size_t calls) {
  writing_ = false;
  calls_meet_ = calls > 1 || !queue_.empty();
  if (stopping_ || !queue_.empty()) work_.notify_one();
}

void Writer::loop() {
  for (;;) {
    const std::vector<Job*> group = next_group();
    if (group.empty()) return;
    write_group(group);
    {
      const Lock lock(mutex_);
      end_round(group.size());
    }
    done_.notify_all();
  }
}

void Writer::write_group(const std::vector<Job*>& group) {
  const auto work = [&] {
    group.front()->write != nullptr ? write_alone(*group.front()) : write(group);
  };
  if (sys::guard_call("the store's writer", work)) return;
  // Without memory for the error either it is tried again: a call without a result waits for ever.
  while (!sys::guard_call("the store's writer", [&] { give_up(group); }))
    sys::pause_after_failure({});
}

// Something threw outside of the transactions' own catches: it is unknown which calls are stored,
// and every waiting caller gets that error.
void Writer::give_up(const std::vector<Job*>& group) {
  ingest_.forget();
  database_->roll_back();
  const Lock lock(mutex_);
  for (Job* job : group) {
    if (!job->result) job->result = fail(Code::kUnavailable, "writing to the store failed");
  }
}

// All processes lock sessions in the order of their ids. Calls of several sessions keep their
// place, and then so do all.
void Writer::put_in_order(std::vector<Job*>& group) {
  const auto session = [](const Job* job) { return job->frames.front().header.session; };
  const bool one_each = std::ranges::all_of(group, [&](const Job* job) {
    return !job->frames.empty() && std::ranges::all_of(job->frames, [&](const auto& frame) {
      return frame.header.session == session(job);
    });
  });
  if (one_each) std::ranges::stable_sort(group, {}, session);
}

std::vector<Writer::Job*> Writer::next_group() {
  Lock lock(mutex_);
  work_.wait(lock.native(),
             [&]() REQUIRES(mutex_) { return !writing_ && (stopping_ || !queue_.empty()); });
  std::vector<Job*> group;
  if (stopping_) {
    for (Job* job : queue_) job->result = fail(Code::kUnavailable, "the store is closing");
    queue_.clear();
    done_.notify_all();
    return group;
  }
  std::size_t bytes = 0;
  while (!queue_.empty() && (group.empty() || bytes < kGroupBytes)) {
    if (!group.empty() && queue_.front()->write != nullptr) break;
    for (const codec::Frame& frame : queue_.front()->frames) bytes += frame.raw.size();
    group.push_back(queue_.front());
    queue_.pop_front();
    if (group.front()->write != nullptr) break;
  }
  writing_ = true;
  room_.notify_all();
  lock.unlock();
  put_in_order(group);
  return group;
}

void Writer::write(const std::vector<Job*>& group) {
  Answers answers;
  Result<> done;
  auto lock = Ingest::LockRuns::kAtTheEnd;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    answers.clear();
    held_back_.clear();
    done = try_group(group, lock, answers);
    if (done) break;
    if (database_->lock_refused()) {
      lock = Ingest::LockRuns::kAtOnce;
      met_a_lock();
    }
    ingest_.forget();
    database_->roll_back();
    if (!database_->dialect().shared || !passing(done.error())) break;
  }
  // For the client both mean: send it again.
  if (!done && done.error().code == Code::kConflict)
    done = fail(Code::kUnavailable, done.error().message);
  for (const StoredBatch& batch : ingest_.take_batches()) stored_(batch);
  if (done && group.size() > 1) try_alone(group, answers);
  if (done) done = still_there();
  const Lock guard(mutex_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->result =
        done ? std::move(answers[i]) : Result<AppendResult>(tl::unexpected(done.error()));
  }
}

// The process that held the row may have waited for one of this group's: now the group holds none.
void Writer::try_alone(const std::vector<Job*>& group, Answers& answers) {
  for (const std::size_t i : std::exchange(held_back_, {})) {
    Answers answer;
    if (try_group({group[i]}, Ingest::LockRuns::kAtOnce, answer)) {
      answers[i] = std::move(answer.front());
      for (const StoredBatch& batch : ingest_.take_batches()) stored_(batch);
      continue;
    }
    ingest_.forget();
    database_->roll_back();
  }
}

void Writer::write_alone(Job& job) {
  const auto work = [&]() -> Result<> {
    TRY(database_->revive());
    TRY(database_->script(std::string(database_->dialect().begin_write)));
    Writing writing(*database_);
    TRY((*job.write)(writing));
    if (!database_->in_transaction())
      return fail(Code::kInternal, "the transaction ended by itself");
    failpoint::reach("seal.before_commit");
    TRY(database_->script("COMMIT"));
    failpoint::reach("seal.after_commit");
    return {};
  };
  const auto caught = [&]() -> Result<> {
    try {
      return work();
    } catch (const std::exception& e) {
      return fail(Code::kInternal, std::string("writing to the store: ") + e.what());
    }
  };
  Result<> done = caught();
  if (done) done = still_there();
  if (!done) database_->roll_back();
  if (job.sessions == Sessions::kForget) ingest_.forget();
  const Lock lock(mutex_);
  job.result = done ? Result<AppendResult>(AppendResult{})
                    : Result<AppendResult>(tl::unexpected(done.error()));
}

// An Error: nothing of the group is stored, or that is unknown (a connection lost while
// committing).
Result<> Writer::try_group(const std::vector<Job*>& group, Ingest::LockRuns lock,
                           Answers& answers) {
  try {
    TRY(database_->revive());
    TRY(database_->script(std::string(database_->dialect().begin_write)));
    if (lock == Ingest::LockRuns::kAtOnce || (hurry_until_ && sys::boot_now() < *hurry_until_))
      TRY(hurry());
    failpoint::reach("writer.begin");
    for (const Job* job : group) TRY(write_one(*job, lock, answers));
    if (!database_->in_transaction())
      return fail(Code::kInternal, "the transaction ended by itself");
    TRY(ingest_.finish_group());
    failpoint::reach("writer.before_commit");
    TRY(database_->script("COMMIT"));
    failpoint::reach("writer.after_commit");
    return {};
  } catch (const std::exception& e) {
    return fail(Code::kInternal, std::string("writing to the store: ") + e.what());
  }
}

// An Error ends the whole transaction: a full disk, an I/O error, a lost race.
Result<> Writer::write_one(const Job& job, Ingest::LockRuns lock, Answers& answers) {
  TRY(database_->script("SAVEPOINT one"));
  Writing writing(*database_);
  const Result<> agreed = job.before != nullptr ? (*job.before)(writing) : Result<>();
  answers.push_back(agreed ? ingest_.append(job.frames, *job.sender, lock)
                           : tl::unexpected(agreed.error()));
  if (answers.back() && (job.before == nullptr || answers.back()->refusals.empty())) {
    TRY(database_->script("RELEASE one"));
    ingest_.keep();
    return {};
  }
  if (answers.back()) {
    ingest_.drop(job.frames);
    return database_->script("ROLLBACK TO one; RELEASE one");
  }
  const Error& error = answers.back().error();
  const bool locked = database_->lock_refused();
  ingest_.drop(job.frames);
  if (!database_->in_transaction() || (database_->dialect().shared && passing(error) && !locked))
    return tl::unexpected(error);
  TRY(database_->script("ROLLBACK TO one; RELEASE one"));
  if (!locked) return {};
  held_back_.push_back(answers.size() - 1);
  met_a_lock();
  return hurry();
}

// The process that holds this row may hold many, and the rest of the queue must not wait a second
// for each of them.
void Writer::met_a_lock() {
  const BootTime now = sys::boot_now();
  if (!hurry_until_ || now >= *hurry_until_) hurry_until_ = now + kHurry;
}

Result<> Writer::hurry() { return database_->script(std::string(database_->dialect().hurry)); }

}  // namespace corral::store::sql
