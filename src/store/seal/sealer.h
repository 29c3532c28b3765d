// Sealer: the thread that lets points rise from batch rows to row groups and blocks.
//
// note() tells it about every stored batch row. It reads and encodes on a connection for reading,
// and hands each plan to the writer, where it is a transaction of its own. A session's batch rows
// become row groups after ten seconds or four mebibytes; its slices are looked at one after
// another, each plan small, so that no seal holds up an acknowledgement for long. The remaining
// rows of a session that ended or fell silent are settled. Another server on the same database may
// seal the same session at the same time: one of the two plans is refused as a conflict, and
// nothing is stored twice. A damaged pyramid row or damaged statistics are made anew. After an
// error all rows stay as they were; info() reports it, and the sealer retries later. The rows that
// removed runs leave behind (remove.h) are deleted here, too, in turn with sealing.
//
// The space of deleted rows is given back to the filesystem when there is nothing to seal: all of
// it if nothing is being written, else all but the space that the next batch rows will need.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/mutex.h"
#include "core/time.h"
#include "store/engine/readers.h"
#include "store/ingest/writer.h"
#include "store/seal/levels.h"
#include "store/seal/plan.h"

namespace corral::store::sql {

// Remakes, inside the caller's transaction, damaged data of a session that follows from its points.
using Repair = std::function<Result<>(Connection&, std::int64_t session)>;

class Sealer {
 public:
  Sealer(Readers& readers, Writer& writer, Repair repair);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // Notes a stored batch row of the session. Any thread; short, but waits a little when sealing is
  // far behind.
  void note(std::int64_t session, std::size_t bytes);
  void pace();
  // Moves all points that are in batch rows now to row groups or blocks; settled: as if all
  // sessions had ended. For tests, benchmarks and `corral store`.
  Result<> seal_all(bool settle);
  // Starts deleting the rows of removed runs, piece by piece.
  void note_removal();
  // Deletes the rows of all removed runs before it returns.
  Result<> clean_all();
  // The error of the last attempt, empty when it went well.
  [[nodiscard]] std::string problem() const;
  // Batch rows and bytes that wait, as far as this process knows.
  [[nodiscard]] StoreActivity waiting() const;

 private:
  struct Waiting {
    std::size_t rows = 0, bytes = 0;  // in batch rows, as far as this process knows
    BootTime first, newest;           // noted
    BootTime not_before;              // after an error
    BootTime look_again;              // earliest time to check for settling again
  };
  // The time and rank of a session's turn.
  enum class Rank : std::uint8_t { kFull, kWaits, kSilent };
  struct Turn {
    Rank rank = Rank::kFull;
    BootTime due;
    std::int64_t session = 0;
    auto operator<=>(const Turn&) const = default;
  };
  struct Task {
    std::int64_t session = 0;
    bool settle = false;
    bool asked = false;  // settled however short its silence
  };

  void loop();
  void find_left_over();
  std::optional<Task> next_task() REQUIRES(mutex_);
  static Turn turn_of(std::int64_t session, const Waiting& waiting);
  void add(std::int64_t session) REQUIRES(mutex_);
  template <class Edit>
  void change(std::int64_t session, Edit&& edit) REQUIRES(mutex_);
  void run(const Task& task);
  bool time_to_clean() REQUIRES(mutex_);
  void clean();
  Result<bool> clean_slice();
  Result<> seal_patiently(const Task& task);
  Result<> seal_or_repair(const Task& task);
  Result<> seal(const Task& task) REQUIRES(sealing_);
  Result<> seal_batches(std::int64_t session) REQUIRES(sealing_);
  Result<> seal_slice(const SliceKey& key, RowGroupState state) REQUIRES(sealing_);
  void set_problem(std::int64_t session, std::string problem) REQUIRES(mutex_);
  Result<bool> apply(Result<std::optional<SealPlan>> plan) REQUIRES(sealing_);
  bool reclaim();
  Result<bool> may_settle(std::int64_t session, Nanos silent);

  // Constant after construction.
  Readers& readers_;
  Writer& writer_;
  const Repair repair_;

  // Only the sealer's thread.
  BootTime look_at_{};  // the next search for left-over rows
  SeenRows seen_;       // the newest rows at the last search

  // Held while a plan is made and carried out; taken before mutex_.
  Mutex sealing_;

  mutable Mutex mutex_;
  std::condition_variable work_, room_;
  // Guarded by mutex_.
  std::map<std::int64_t, Waiting> waiting_ GUARDED_BY(mutex_);
  std::set<Turn> turns_ GUARDED_BY(mutex_);  // one element for each waiting session
  std::size_t backlog_ GUARDED_BY(mutex_) = 0;
  // The next repair of each damaged session.
  std::map<std::int64_t, BootTime> repair_again_ GUARDED_BY(mutex_);
  // By session; 0 stands for problems of no session.
  std::map<std::int64_t, std::string> problems_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  // The next removal of rows; they may stem from an earlier process or another server.
  BootTime clean_at_ GUARDED_BY(mutex_){};
  // True when rows may have been deleted since reclaim() last found no spare room.
  bool spare_room_ GUARDED_BY(mutex_) = true;

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::store::sql
