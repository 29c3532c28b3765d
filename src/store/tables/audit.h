// The audit: who did what in a store that is served to users, as rows of `audit`.
//
// Free functions over the caller's snapshot or transaction. An entry is begun before a request is
// carried out and ended with its answer, so that nothing happens without one; an entry without a
// status was cut off in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::audit {

inline constexpr std::chrono::hours kKept{400 * 24};

struct Entry {
  std::int64_t id = 0;  // ascending
  UtcTime time{};
  std::string user;     // empty: the owner of the server's socket, or nobody in particular
  std::string address;  // IP address; "unix": over the socket; empty: not known
  std::string request;  // "DELETE /api/corral/v1/users/bob"
  std::string detail;   // the beginning of the request's body
  std::optional<std::int64_t> status{};  // its answer's

  bool operator==(const Entry&) const = default;
};

struct Filter {
  std::optional<std::string> user{};
  std::int64_t before = std::numeric_limits<std::int64_t>::max();  // ids below
  std::optional<UtcTime> from{}, to{};                             // both inside
  std::size_t limit = 100;
};

// Also deletes entries that are older than kKept at that time, at most 100. `entry.id` and
// `entry.status` do not count. Returns the id.
Result<std::int64_t> begin(Writing& writing, const Entry& entry);
// Harmless if there is no such entry any more.
Result<> end(Writing& writing, std::int64_t id, std::int64_t status);
// The oldest first, with greater ids than that; at most `limit`.
Result<std::vector<Entry>> entries_after(Reading& reading, std::int64_t id, std::size_t limit);
// The greatest id; 0: there is no entry.
Result<std::int64_t> newest(Reading& reading);
// The newest first.
Result<std::vector<Entry>> entries(Reading& reading, const Filter& filter);

}  // namespace corral::store::audit
