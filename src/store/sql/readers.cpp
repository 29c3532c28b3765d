#include "store/sql/readers.h"

#include <string>

namespace corral::store::sql {

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
    std::unique_lock lock(mutex_);
    free_.wait(lock, [&] { return !idle_.empty() || open_ < most_; });
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++open_;
  }
  Result<std::unique_ptr<Connection>> opened = open_one_();
  if (!opened) give_back(nullptr);
  return opened;
}

// A connection that is stuck in its transaction is closed instead of kept.
void Readers::give_back(std::unique_ptr<Connection> connection) {
  if (connection && (connection->in_transaction() || !connection->alive())) connection.reset();
  {
    const std::scoped_lock lock(mutex_);
    connection ? idle_.push_back(std::move(connection)) : static_cast<void>(--open_);
  }
  free_.notify_one();
}

}  // namespace corral::store::sql
