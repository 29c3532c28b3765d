// Readers: connections for reading, opened when needed; idle ones are kept. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "store/engine/database.h"

namespace corral::store::sql {

using OpenConnection = std::function<Result<std::unique_ptr<Connection>>()>;

class Readers {
 public:
  Readers(OpenConnection open, std::size_t most) : open_one_(std::move(open)), most_(most) {}

  // Calls read(connection) inside one snapshot. Waits while `most` others read, and up to ten
  // seconds for one of them where the database lends no more connections.
  template <class Read>
  auto with(Read&& read) -> decltype(read(std::declval<Connection&>())) {
    Lease lease(*this, TRY(borrow()));
    return in_snapshot(*lease.connection, std::forward<Read>(read));
  }

 private:
  // Returns the connection to the pool when `read` ends, also by an exception.
  struct Lease {
    Lease(Readers& readers, std::unique_ptr<Connection> borrowed)
        : owner(readers), connection(std::move(borrowed)) {}
    ~Lease() { owner.give_back(std::move(connection)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Readers& owner;
    std::unique_ptr<Connection> connection;
  };

  template <class Read>
  static auto in_snapshot(Connection& connection, Read&& read) -> decltype(read(connection)) {
    auto begun = begin(connection);
    if (!begun) return tl::unexpected(begun.error());
    auto result = read(connection);
    if (!result) {
      connection.roll_back();
      return result;
    }
    TRY(connection.script("COMMIT"));
    return result;
  }

  static Result<> begin(Connection& connection);
  Result<std::unique_ptr<Connection>> borrow();
  Result<std::unique_ptr<Connection>> wait_for_another(const Error& refusal);
  void give_back(std::unique_ptr<Connection> connection);

  // Constant after construction.
  const OpenConnection open_one_;
  const std::size_t most_;

  Mutex mutex_;
  std::condition_variable free_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
  std::size_t open_ GUARDED_BY(mutex_) = 0;
};

}  // namespace corral::store::sql
