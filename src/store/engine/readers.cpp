#include "store/engine/readers.h"

#include <chrono>
#include <string>

namespace corral::store::sql {
namespace {

constexpr std::chrono::seconds kPatience{10};

}  // namespace

// A connection that was idle may have been lost since: that shows here, before anything is read.
Result<> Readers::begin(Connection& connection) {
  TRY(connection.revive());
  const std::string snapshot(connection.dialect().begin_read);
  auto begun = connection.script(snapshot);
  if (begun || connection.alive()) return begun;
  TRY(connection.revive());
  return connection.script(snapshot);
}

Result<std::unique_ptr<Connection>> Readers::borrow() {
  {
    Lock lock(mutex_);
    free_.wait(lock.native(), [&]() REQUIRES(mutex_) { return !idle_.empty() || open_ < most_; });
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++open_;
  }
  Result<std::unique_ptr<Connection>> opened = open_one_();
  if (opened) return opened;
  give_back(nullptr);
  if (opened.error().code != Code::kUnavailable) return opened;
  return wait_for_another(opened.error());
}

// If the database lends no more connections, the open ones serve all. One that is away
// ends them all.
Result<std::unique_ptr<Connection>> Readers::wait_for_another(const Error& refusal) {
  Lock lock(mutex_);
  free_.wait_for(lock.native(), kPatience,
                 [&]() REQUIRES(mutex_) { return !idle_.empty() || open_ == 0; });
  if (idle_.empty()) return tl::unexpected(refusal);
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

// A connection that is stuck in its transaction is closed instead of kept.
void Readers::give_back(std::unique_ptr<Connection> connection) {
  if (connection && (connection->in_transaction() || !connection->alive())) connection.reset();
  {
    const Lock lock(mutex_);
    connection ? idle_.push_back(std::move(connection)) : static_cast<void>(--open_);
  }
  free_.notify_all();  // they wait for different things
}

}  // namespace corral::store::sql
