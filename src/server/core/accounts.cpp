#include "server/core/accounts.h"

#include <algorithm>

#include "core/access_token.h"
#include "server/core/gate.h"
#include "store/tables/accounts.h"

namespace corral::server {

namespace accounts = store::accounts;

Result<bool> Accounts::refresh() {
  const auto known = snapshot();
  auto fresh = std::make_shared<Snapshot>();
  const auto read = [&](store::Reading& reading) -> Result<> {
    const accounts::State state = TRY(accounts::state(reading));
    *fresh = Snapshot();
    fresh->version = state.version;
    fresh->required = state.users;
    if (state.version == known->version) return {};
    std::map<std::string, Role, std::less<>> roles;
    for (const accounts::User& user : TRY(accounts::users(reading)))
      roles[user.name] = user.disabled ? Role::kAnyone : user.role;
    fresh->users = !roles.empty();
    for (accounts::Token& token : TRY(accounts::tokens(reading))) {
      const Role role = std::min(token.role, roles[token.user]);
      if (token.revoked || role == Role::kAnyone) continue;
      fresh->tokens[token.id] = Known{.hash = token.hash,
                                      .principal = {.user = std::move(token.user), .role = role},
                                      .expires = token.expires};
    }
    return {};
  };
  TRY(reader_.inspect(read));
  if (fresh->version == known->version) return false;
  // If two threads refresh at once, the newer snapshot stays.
  snapshot_.with([&](auto& current) {
    if (fresh->version > current->version) current = std::move(fresh);
  });
  return true;
}

bool Accounts::required() const { return snapshot()->required; }

bool Accounts::has_users() const { return snapshot()->users; }

std::optional<Principal> Accounts::who(std::string_view token, UtcTime now) const {
  const auto id = access_token_id(token);
  if (!id) return std::nullopt;
  const auto known = snapshot();
  const auto found = known->tokens.find(*id);
  if (found == known->tokens.end() || found->second.expires <= now ||
      !same_hash(found->second.hash, sha256(token)))
    return std::nullopt;
  return found->second.principal;
}

std::shared_ptr<const Accounts::Snapshot> Accounts::snapshot() const {
  return snapshot_.with([](const auto& current) { return current; });
}

}  // namespace corral::server
