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

struct User {
  std::string name;     // unique; see valid_user_name()
  std::string display;  // as people write it; may be empty
  Role role = Role::kReader;
  bool disabled = false;  // none of its tokens counts
  UtcTime created{};

  bool operator==(const User&) const = default;
};

struct Token {
  std::string id;
  Sha256 hash{};
  std::string user;
  std::string label;          // its purpose; may be empty
  Role role = Role::kReader;  // at most; the user's own may be less
  UtcTime created{};
  UtcTime expires{};
  std::optional<UtcTime> revoked{};
  std::string parent = {};  // id of the token by which its user let a program in; or empty
};

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
// kAlreadyExists.
Result<> add_user(Writing& writing, const User& user);
// kNotFound. kUnprocessable: no admin would be left who is not disabled.
Result<> change_user(Writing& writing, const UserChange& change);
// With the user's tokens and memberships. Errors as of change_user().
Result<> delete_user(Writing& writing, std::string_view name);

// The newest first.
Result<std::vector<Token>> tokens(Reading& reading);
// With the user's role of now if that allows less. kNotFound: there is no such user.
// kAlreadyExists: a token has this id.
Result<> add_token(Writing& writing, const Token& token);
// For the user of its parent; it allows no more, and lasts no longer, than that. Returns what
// it made.
// kPermission: the parent does not count any more.
Result<Token> add_child_token(Writing& writing, Token token);
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
