#include "run/delivery.h"

#include <utility>

namespace corral::run {

Result<> Delivery::flush(Nanos patience, const std::atomic<bool>& cancelled) {
  if (stored_.load() == written_.load()) return {};
  Lock lock(mutex_);
  const std::uint64_t mine = ++asked_;
  changed_.notify_all();
  changed_.wait_for(lock, patience,
                    [&]() REQUIRES(mutex_) { return closed_ || cancelled || answered_ >= mine; });
  if (answered_ >= mine) return last_;
  if (closed_ || cancelled) return fail(Code::kUnavailable, "the run is over");
  return fail(Code::kUnavailable, "the server takes long to answer");
}

void Delivery::mark_dead() {
  const Lock lock(mutex_);
  dead_ = true;
  stored_ = 0;
}

bool Delivery::begin() {
  const Lock lock(mutex_);
  taken_ = asked_;
  round_written_ = written_.load();
  return std::exchange(dead_, false);
}

void Delivery::end(const Result<bool>& idle) {
  const Lock lock(mutex_);
  if (idle && !*idle) return;  // more waits: the questions go on to the next round
  last_ = idle ? Result<>() : Result<>(tl::unexpected(idle.error()));
  stored_ = idle && !dead_ ? round_written_ : 0;
  answered_ = taken_;
  changed_.notify_all();
}

void Delivery::pause(const std::stop_token& stop, Nanos length, bool after_failure) {
  Lock lock(mutex_);
  changed_.wait_for(lock, stop, length, [&]() REQUIRES(mutex_) {
    return woken_ || (rows_ && !after_failure) || asked_ > answered_;
  });
  woken_ = rows_ = false;
}

bool Delivery::sleep(const std::stop_token& stop, Nanos length) {
  Lock lock(mutex_);
  return !files_changed_.wait_for(lock, stop, length, [&]() REQUIRES(mutex_) { return closed_; });
}

bool Delivery::wait_for_files(const std::stop_token& stop) {
  Lock lock(mutex_);
  const bool told =
      files_changed_.wait(lock, stop, [&]() REQUIRES(mutex_) { return files_ || closed_; });
  files_ = false;
  return told && !closed_;
}

void Delivery::note_files() {
  const Lock lock(mutex_);
  files_ = true;
  files_changed_.notify_all();
}

void Delivery::note_rows() {
  const Lock lock(mutex_);
  rows_ = true;
  changed_.notify_all();
}

void Delivery::wake() {
  const Lock lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Delivery::close() {
  const Lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  files_changed_.notify_all();
}

}  // namespace corral::run
