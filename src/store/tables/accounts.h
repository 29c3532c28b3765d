// Users of a store and their access tokens: rows of `users`, `tokens` and `account_state`.
//
// Free functions over the caller's snapshot or transaction. A store whose `account_state` asks for
// users is served to users alone. Tokens are kept as hashes alone. Every change gives the
// accounts another version, so that servers see by one row whether theirs are still right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/role.h"
#include "core/sha256.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::accounts {

// A person at a provider of OpenID Connect: its address, and its own name of them, which it gives
// to nobody else. Both empty: not known.
struct Identity {
  std::string issuer;
  std::string subject;

  bool operator==(const Identity&) const = default;
};

struct User {
  std::string name;     // unique; see valid_user_name()
  std::string display;  // as people write it; may be empty
  Role role = Role::kReader;
  bool disabled = false;  // none of its tokens counts
  UtcTime created{};
  Identity identity = {};

  bool operator==(const User&) const = default;
};

// kSession: a browser got it at a sign-in, and it is deleted when that ends. kOfSession: it was
// made with such a one, or with one that was. kToken: any other. The numbers are stored.
enum class Origin : std::uint8_t { kToken = 0, kSession = 1, kOfSession = 2 };

struct Token {
  std::string id;
  Sha256 hash{};
  std::string user;
  std::string label;          // its purpose; may be empty
  Role role = Role::kReader;  // at most; the user's own may be less
  UtcTime created{};
  UtcTime expires{};
  std::optional<UtcTime> revoked{};
  std::string parent = {};  // id of the token by which its user made it, or let a program in
  Origin origin = Origin::kToken;
};

inline constexpr std::int64_t kMostTokens = 200;  // that count, by a user who is no admin
inline constexpr Nanos kMostAfterSession = std::chrono::hours(24) * 90;

struct State {
  bool users = false;        // the store asks for users
  std::int64_t version = 0;  // a random number, another one after each change; 0: none yet
};

// Members that are absent stay as they are.
struct UserChange {
  std::string name;
  std::optional<std::string> display{};
  std::optional<Role> role{};
  std::optional<bool> disabled{};
  std::optional<Identity> identity{};
};

// 1 to 64 of a-z, 0-9, '.', '-' and '_', a letter or digit first.
bool valid_user_name(std::string_view name);

// Gives the accounts another version. Call it before a change that servers must learn of: changes
// by several servers wait for each other from there on.
Result<> mark_change(Writing& writing);
Result<State> state(Reading& reading);
// Asks for users from now on, or does no longer.
Result<> require_users(Writing& writing, bool required);

// By name.
Result<std::vector<User>> users(Reading& reading);
// kAlreadyExists: another user has this name, or this identity.
Result<> add_user(Writing& writing, const User& user);
Result<std::optional<User>> user_of(Writing& writing, const Identity& identity);
// `wish`, or if it is taken, wish-2, wish-3 and so on. Taken are also names that stand in runs,
// notes and the audit: who gets such a name gets what is theirs.
Result<std::string> free_user_name(Writing& writing, std::string_view wish);
// kNotFound. kUnprocessable: no admin would be left who is not disabled. kAlreadyExists: another
// user has this identity. With another identity than before, what was let in by the one of before
// is not any more: sessions, the tokens made with them, and what the provider said of teams.
Result<> change_user(Writing& writing, const UserChange& change);
// With the user's tokens and memberships. Errors as of change_user().
Result<> delete_user(Writing& writing, std::string_view name);

// The newest first.
Result<std::vector<Token>> tokens(Reading& reading);
// Gives it the user's role of now if that allows less. kNotFound: there is no such user.
// kAlreadyExists: a token has this id.
Result<> add_token(Writing& writing, Token& token);
inline Result<> add_token(Writing& writing, Token&& token) { return add_token(writing, token); }
// For the user of its parent; it allows no more, and lasts no longer, than that. It may outlive a
// session, by at most kMostAfterSession. Returns what it made. kUnprocessable: the user has
// kMostTokens.
// kPermission: the parent does not count any more.
Result<Token> add_child_token(Writing& writing, Token token);
// Makes the token of a session, and deletes those that expired over an hour ago.
Result<> begin_session(Writing& writing, Token token);
// Deletes it. False: there is no session with this id.
Result<bool> end_session(Writing& writing, std::string_view id);
// The token is a session's, or was made with one.
Result<bool> is_of_session(Writing& writing, std::string_view id);
// Tokens of one user that allow no more than a role.
struct TokensOf {
  std::string_view user;
  Role role;
};
// With those of which it is the parent, and so on. `only`: if it is one of these. False: there is
// none. Once revoked it stays so.
Result<bool> revoke_token(Writing& writing, std::string_view id, UtcTime now,
                          const std::optional<TokensOf>& only);

}  // namespace corral::store::accounts
