// Writer: the one connection that writes to the database, and its thread.
//
// append() returns when the transaction that holds its call is on the disk. A call that is alone
// writes by itself, on its caller's thread. Once calls meet, the writer's thread does it: all calls
// that wait when it starts a round go into one transaction (group commit). Each call has its own
// savepoint, so that its failure affects no other call. A group that conflicts with another
// process's writes, or loses its connection, is retried a few times: by then nothing of it is
// stored, or durable_seq tells the stored part. A call that needs a row which another process's
// transaction holds for longer than Connection waits is tried once more by itself, after the others
// of its group, and then refused (kUnavailable); for a moment after that no call waits long for
// such a row. The queue holds as many calls as there are threads that wait, up to kQueue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "store/engine/database.h"
#include "store/ingest/ingest.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::sql {

// Store::intact(); any thread.
using Intact = std::function<Result<>()>;

class Writer {
 public:
  // `stored` is called for every durable batch row, on the thread that wrote it.
  using Stored = std::function<void(const StoredBatch& batch)>;
  // `intact` is called after each commit, before its acknowledgements; may be empty.
  Writer(std::unique_ptr<Connection> database, Intact intact, Stored stored);
  // Answers waiting calls with kUnavailable and finishes the last commit.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Calls before(transaction) first, if there is one, in the same savepoint; its error becomes the
  // call's, and a refused frame rolls the whole call back. `frames` may be empty then.
  Result<AppendResult> append(std::span<const codec::Frame> frames, const Change& before = {},
                              const Sender& sender = {});
  // Calls write(transaction) in a transaction of its own, tried once. kForget: it changes data of
  // cached sessions.
  using Write = Change;
  enum class Sessions : std::uint8_t { kKeep, kForget };
  Result<> transact(const Write& write, Sessions sessions = Sessions::kKeep);

 private:
  struct Job {
    std::span<const codec::Frame> frames;  // the waiting caller's
    const Sender* sender = nullptr;        // the waiting caller's; null without frames
    const Change* before = nullptr;        // may be null
    const Write* write = nullptr;          // instead of both
    Sessions sessions = Sessions::kKeep;
    std::optional<Result<AppendResult>> result;  // guarded by mutex_
  };
  Result<AppendResult> wait_for(Job& job);

  void loop();
  void end_round(std::size_t calls) REQUIRES(mutex_);
  void write_group(const std::vector<Job*>& group);
  void give_up(const std::vector<Job*>& group);
  std::vector<Job*> next_group();
  static void put_in_order(std::vector<Job*>& group);
  void write(const std::vector<Job*>& group);
  void try_alone(const std::vector<Job*>& group, std::vector<Result<AppendResult>>& answers);
  void write_alone(Job& job);
  using Answers = std::vector<Result<AppendResult>>;
  Result<> try_group(const std::vector<Job*>& group, Ingest::LockRuns lock, Answers& answers);
  Result<> write_one(const Job& job, Ingest::LockRuns lock, Answers& answers);
  Result<> hurry();
  [[nodiscard]] Result<> still_there() const { return intact_ ? intact_() : Result<>(); }
  void met_a_lock();

  // Only the thread that writes (`writing_`) after construction.
  const std::unique_ptr<Connection> database_;
  Ingest ingest_;
  const Intact intact_;
  const Stored stored_;
  std::optional<BootTime> hurry_until_;
  std::vector<std::size_t> held_back_;  // jobs of the group that met a lock

  Mutex mutex_;
  std::condition_variable work_, done_, room_;
  // Guarded by mutex_.
  std::deque<Job*> queue_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool calls_meet_ GUARDED_BY(mutex_) = false;  // as of the latest round
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::store::sql
