#include "server/core/accounts.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/access_token.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"

namespace corral::server {

namespace accounts = store::accounts;

namespace {

store::Access all_but_own(const std::vector<accounts::Space>& spaces, std::string_view user) {
  std::vector<std::string> hidden;
  for (const accounts::Space& space : spaces)
    if (std::ranges::find(space.members, user) == space.members.end()) hidden.push_back(space.name);
  return store::Access::all_but(std::move(hidden));
}

}  // namespace

Result<bool> Accounts::refresh() {
  const Lock lock(refreshing_);
  const auto known = snapshot();
  auto fresh = std::make_shared<Snapshot>();
  const auto read = [&](store::Reading& reading) -> Result<> {
    const accounts::State state = TRY(accounts::state(reading));
    *fresh = Snapshot();
    fresh->version = state.version;
    fresh->required = state.users || known->required;
    if (state.version == known->version) return {};
    std::map<std::string, Role, std::less<>> roles;
    for (const accounts::User& user : TRY(accounts::users(reading)))
      roles[user.name] = user.disabled ? Role::kAnyone : user.role;
    fresh->users = !roles.empty();
    for (accounts::Token& token : TRY(accounts::tokens(reading))) {
      const Role role = std::min(token.role, roles[token.user]);
      if (token.revoked || role == Role::kAnyone) continue;
      fresh->tokens[token.id] =
          Known{.hash = token.hash,
                .principal = {.user = std::move(token.user), .role = role, .token = token.id},
                .expires = token.expires};
    }
    const auto spaces = TRY(accounts::spaces(reading));
    fresh->of_others = all_but_own(spaces, "");
    for (const auto& [user, role] : roles) fresh->access.emplace(user, all_but_own(spaces, user));
    return {};
  };
  TRY(reader_.inspect(read));
  if (fresh->version == known->version) return false;
  snapshot_.with([&](auto& current) { current = std::move(fresh); });
  return true;
}

bool Accounts::required() const { return snapshot()->required; }

bool Accounts::has_users() const { return snapshot()->users; }

store::Access Accounts::access_of(std::string_view user) const {
  const auto current = snapshot();
  const auto known = current->access.find(user);
  return known == current->access.end() ? current->of_others : known->second;
}

bool Accounts::any_expired(UtcTime from, UtcTime to) const {
  return std::ranges::any_of(snapshot()->tokens, [&](const auto& token) {
    return token.second.expires > from && token.second.expires <= to;
  });
}

const Accounts::Known* Accounts::find(const std::shared_ptr<const Snapshot>& in,
                                      std::string_view token) {
  // A training sends one token again and again, mostly to the same thread.
  struct Last {
    std::shared_ptr<const Snapshot> in;
    std::vector<std::uint8_t> token;
    const Known* known = nullptr;
  };
  thread_local Last last;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(token.data()), token.size());
  if (last.in == in && same_secret_bytes(last.token, bytes)) return last.known;
  const auto id = access_token_id(token);
  const auto found = id ? in->tokens.find(*id) : in->tokens.end();
  if (found == in->tokens.end() || !same_secret_bytes(found->second.hash, sha256(token)))
    return nullptr;
  last = {.in = in, .token = {bytes.begin(), bytes.end()}, .known = &found->second};
  return last.known;
}

std::optional<Principal> Accounts::who(std::string_view token, UtcTime now) const {
  if (token.empty()) return std::nullopt;
  const auto current = snapshot();
  const Known* known = find(current, token);
  if (known == nullptr || known->expires <= now) return std::nullopt;
  return known->principal;
}

std::shared_ptr<const Accounts::Snapshot> Accounts::snapshot() const {
  return snapshot_.with([](const auto& current) { return current; });
}

}  // namespace corral::server
