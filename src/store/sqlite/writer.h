// Writer: the one thread that writes to the database.
//
// append() hands it a call and sleeps until the transaction that holds it is on the disk. Whatever
// waits when the thread comes round goes into one transaction (group commit), each call in a
// savepoint of its own, so that one that fails takes nothing else with it. The queue holds as many
// calls as there are threads that wait, up to kQueue.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "store/sqlite/database.h"
#include "store/sqlite/ingest.h"
#include "store/store.h"

namespace corral::store::sqlite {

class Writer {
 public:
  explicit Writer(Connection database);
  // Calls that wait are answered kUnavailable; the last commit is finished.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Result<AppendResult> append(std::span<const codec::Frame> frames);

 private:
  struct Job {
    std::span<const codec::Frame> frames;  // the waiting caller's
    std::optional<Result<AppendResult>> result;
  };

  void loop();
  std::vector<Job*> next_group();
  void write(const std::vector<Job*>& group);
  Result<AppendResult> write_one(const Job& job);

  Connection database_;
  Ingest ingest_;
  std::mutex mutex_;
  std::condition_variable work_, done_, room_;
  std::deque<Job*> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace corral::store::sqlite
