#include "store/sqlite/writer.h"

#include <exception>

namespace corral::store::sqlite {
namespace {

constexpr std::size_t kQueue = 256;
// Bytes of one transaction: bounds the log and how long one caller waits for the others.
constexpr std::size_t kGroupBytes = 32u << 20;

}  // namespace

Writer::Writer(Connection database)
    : database_(std::move(database)), ingest_(database_), thread_([this] { loop(); }) {}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  thread_.join();
}

Result<AppendResult> Writer::append(std::span<const codec::Frame> frames) {
  Job job{.frames = frames, .result = std::nullopt};
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return stopping_ || queue_.size() < kQueue; });
  if (stopping_) return fail(Code::kUnavailable, "the store is closing");
  queue_.push_back(&job);
  work_.notify_one();
  done_.wait(lock, [&] { return job.result.has_value(); });
  return *std::move(job.result);
}

void Writer::loop() {
  for (;;) {
    const std::vector<Job*> group = next_group();
    if (group.empty()) return;
    write(group);
    done_.notify_all();
  }
}

std::vector<Writer::Job*> Writer::next_group() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
  std::vector<Job*> group;
  if (stopping_) {
    for (Job* job : queue_) job->result = fail(Code::kUnavailable, "the store is closing");
    queue_.clear();
    done_.notify_all();
    return group;
  }
  std::size_t bytes = 0;
  while (!queue_.empty() && (group.empty() || bytes < kGroupBytes)) {
    for (const codec::Frame& frame : queue_.front()->frames) bytes += frame.raw.size();
    group.push_back(queue_.front());
    queue_.pop_front();
  }
  room_.notify_all();
  return group;
}

void Writer::write(const std::vector<Job*>& group) {
  std::vector<Result<AppendResult>> results;
  const Result<> done = [&]() -> Result<> {
    try {
      TRY(database_.script("BEGIN IMMEDIATE"));
      for (const Job* job : group) {
        results.push_back(write_one(*job));
        // A full disk or an I/O error ends the whole transaction.
        if (!database_.in_transaction()) {
          if (!results.back()) return tl::unexpected(results.back().error());
          return fail(Code::kInternal, "the transaction ended by itself");
        }
      }
      return database_.script("COMMIT");
    } catch (const std::exception& e) {
      return fail(Code::kInternal, std::string("writing to the store: ") + e.what());
    }
  }();
  if (!done) {
    ingest_.forget();
    if (database_.in_transaction()) static_cast<void>(database_.script("ROLLBACK"));
  }
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->result =
        done ? std::move(results[i]) : Result<AppendResult>(tl::unexpected(done.error()));
  }
}

Result<AppendResult> Writer::write_one(const Job& job) {
  TRY(database_.script("SAVEPOINT one"));
  Result<AppendResult> result = ingest_.append(job.frames);
  if (result) {
    TRY(database_.script("RELEASE one"));
    return result;
  }
  ingest_.forget();
  if (database_.in_transaction()) TRY(database_.script("ROLLBACK TO one; RELEASE one"));
  return result;
}

}  // namespace corral::store::sqlite
