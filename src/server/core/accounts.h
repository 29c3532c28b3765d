// Accounts: the users of the server's store, their tokens and what they see, as the server
// remembers them, so that the gate needs no database (store/tables/accounts.h, spaces.h).
//
// refresh() reads them again once their version in the store has changed, and is called every half
// second, because other servers of a shared database change them as well. A server that asks for
// users does so to its end, whatever another one then writes into the store. All functions may be
// called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/guarded.h"
#include "core/mutex.h"
#include "core/result.h"
#include "core/role.h"
#include "core/sha256.h"
#include "core/time.h"
#include "store/reader.h"

namespace corral::server {

class EventHub;

class Accounts {
 public:
  // Knows nobody before the first refresh().
  explicit Accounts(store::Reader reader) : reader_(std::move(reader)) {}

  // kAdded: there are more users and tokens, and what was known is as before. kOther: streams of
  // events that are open may tell what their users do not see any more, or see too little.
  enum class Change : std::uint8_t { kNone, kAdded, kOther };
  // Reads them again, if they have changed. After an error, what was known stays.
  Result<Change> refresh();
  // The same; ends all streams of these events after Change::kOther.
  Result<> follow(EventHub& events);
  // The store is served to its users only.
  [[nodiscard]] bool required() const;
  [[nodiscard]] bool has_users() const;
  // A token ceased to count within the time (from, to].
  [[nodiscard]] bool any_expired(UtcTime from, UtcTime to) const;
  // The part of the store that a user sees: all but the spaces whose member they are not.
  [[nodiscard]] store::Access access_of(std::string_view user) const;
  // The user of a token, if it counts at that time; reads nothing.
  [[nodiscard]] std::optional<Principal> who(std::string_view token, UtcTime now) const;

 private:
  struct Known {
    Sha256 hash;
    Principal principal;
    UtcTime expires;
  };
  struct Snapshot {
    std::optional<std::int64_t> version{};
    bool required = false;
    bool users = false;
    std::map<std::string, Known, std::less<>> tokens;          // by id
    std::map<std::string, store::Access, std::less<>> access;  // all users', by name
    store::Access of_others = store::Access::all_but({});
  };
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  // Everything of the one is in the other.
  static bool has_all(const Snapshot& fresh, const Snapshot& known);
  // nullptr: it is none of the snapshot's.
  static const Known* find(const std::shared_ptr<const Snapshot>& in, std::string_view token);

  const store::Reader reader_;
  Mutex refreshing_;
  Guarded<std::shared_ptr<const Snapshot>> snapshot_{std::make_shared<const Snapshot>()};
};

}  // namespace corral::server
