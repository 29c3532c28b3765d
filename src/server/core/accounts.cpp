#include "server/core/accounts.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/access_token.h"
#include "server/core/events.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"
#include "store/tables/teams.h"
#include "sys/clock.h"

namespace corral::server {

namespace accounts = store::accounts;

namespace {

constexpr Nanos kLookedFor = std::chrono::minutes(1);

// The people of each space, by its name.
using People = std::map<std::string, std::set<std::string, std::less<>>>;

store::Access all_but_own(const People& spaces, std::string_view user) {
  std::vector<std::string> hidden;
  for (const auto& [name, people] : spaces)
    if (!people.contains(user)) hidden.push_back(name);
  return store::Access::all_but(std::move(hidden));
}

}  // namespace

bool Accounts::has_all(const Snapshot& fresh, const Snapshot& known) {
  const auto hidden = [](const store::Access& access) {
    return access.sees_all() ? std::vector<std::string>() : access.hidden();
  };
  const UtcTime now = sys::utc_now();
  const auto same_token = [&](const auto& one) {
    // Streams of one that has expired just now may still be open.
    if (one.second.expires + kLookedFor <= now) return true;
    const auto found = fresh.tokens.find(one.first);
    return found != fresh.tokens.end() &&
           found->second.principal.role == one.second.principal.role &&
           found->second.principal.user == one.second.principal.user &&
           found->second.expires == one.second.expires;
  };
  const auto same_access = [&](const auto& one) {
    const auto found = fresh.access.find(one.first);
    return found != fresh.access.end() && hidden(found->second) == hidden(one.second);
  };
  return fresh.required == known.required && hidden(fresh.of_others) == hidden(known.of_others) &&
         std::ranges::all_of(known.tokens, same_token) &&
         std::ranges::all_of(known.access, same_access);
}

Result<Accounts::Change> Accounts::refresh() {
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
    const auto teams = TRY(accounts::teams(reading));
    People spaces;
    for (const auto& space : TRY(accounts::spaces(reading)))
      spaces.emplace(space.name, accounts::people_of(space, teams));
    fresh->of_others = all_but_own(spaces, "");
    for (const auto& [user, role] : roles) fresh->access.emplace(user, all_but_own(spaces, user));
    return {};
  };
  TRY(reader_.inspect(read));
  if (fresh->version == known->version) return Change::kNone;
  const Change change = has_all(*fresh, *known) ? Change::kAdded : Change::kOther;
  snapshot_.with([&](auto& current) { current = std::move(fresh); });
  return change;
}

Result<> Accounts::follow(EventHub& events) {
  if (TRY(refresh()) == Change::kOther) events.close_streams();
  return {};
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
