#include "store/tables/accounts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ids.h"
#include "store/engine/database.h"
#include "store/tables/alerts.h"
#include "store/tables/teams.h"

namespace corral::store::accounts {
namespace {

using sql::Statement;

constexpr std::size_t kMostNameBytes = 64;

Role role_at(const Statement& row, int column) {
  const std::int64_t number = row.integer(column);
  // A number that this program does not know gives no rights.
  return number >= 0 && number <= static_cast<std::int64_t>(Role::kAdmin)
             ? static_cast<Role>(number)
             : Role::kAnyone;
}

std::int64_t number_of(Role role) { return static_cast<std::int64_t>(role); }
std::int64_t number_of(Origin origin) { return static_cast<std::int64_t>(origin); }

// A number that this program does not know is the one that an admin's change of identity ends.
Origin origin_at(const Statement& row, int column) {
  const std::int64_t number = row.integer(column);
  return number == 0 ? Origin::kToken : number == 1 ? Origin::kSession : Origin::kOfSession;
}

Error no_user(std::string_view name) {
  return {.code = Code::kNotFound, .message = fmt::format("there is no user '{}'", name)};
}

constexpr std::string_view kUserColumns =
    "SELECT name, display, role, disabled, created, issuer, subject FROM users ";

User user_at(const Statement& row) {
  return {.name = row.text(0),
          .display = row.text(1),
          .role = role_at(row, 2),
          .disabled = row.integer(3) != 0,
          .created = row.utc(4),
          .identity = {.issuer = row.text(5), .subject = row.text(6)}};
}

std::optional<std::string_view> text_or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

Result<> check_identity_is_free(Writing& writing, const Identity& identity, std::string_view user) {
  if (identity.subject.empty()) return {};
  const auto other = TRY(sql::read_first(
      writing->query("SELECT name FROM users WHERE issuer = ?1 AND subject = ?2 AND name <> ?3",
                     identity.issuer, identity.subject, user),
      [](const Statement& row) { return row.text(0); }));
  if (!other) return {};
  return fail(Code::kAlreadyExists,
              fmt::format("'{}' signs in as the user '{}' already", identity.subject, *other));
}

Result<> set_identity(Writing& writing, std::string_view user, const Identity& identity) {
  TRY(check_identity_is_free(writing, identity, user));
  const auto same = TRY(writing->number(
      "SELECT 1 FROM users WHERE name = ?1 AND COALESCE(issuer, '') = ?2 AND COALESCE(subject, '') "
      "= ?3",
      user, identity.issuer, identity.subject));
  if (same) return {};
  TRY(
      writing->exec("DELETE FROM tokens WHERE origin <> ?2 AND owner = (SELECT id FROM users WHERE "
                    "name = ?1)",
                    user, number_of(Origin::kToken)));
  // The groups were somebody else's.
  TRY(join_groups(writing, user, {}));
  return writing->exec("UPDATE users SET issuer = ?2, subject = ?3 WHERE name = ?1", user,
                       text_or_null(identity.issuer), text_or_null(identity.subject));
}

Result<bool> has_admin(Writing& writing) {
  return TRY(writing->number("SELECT count(*) FROM users WHERE role = ?1 AND disabled = 0",
                             number_of(Role::kAdmin)))
             .value_or(0) > 0;
}

// Forgets tokens of the user that have not counted for a month.
Result<> make_room(Writing& writing, const Token& token) {
  constexpr Nanos kMonth = std::chrono::hours(24) * 30;
  TRY(
      writing->exec("DELETE FROM tokens WHERE owner = (SELECT id FROM users WHERE name = ?1) AND "
                    "(expires <= ?2 OR revoked <= ?2)",
                    token.user, token.created - kMonth));
  const auto count = TRY(writing->number(
      "SELECT count(*) FROM tokens t JOIN users u ON u.id = t.owner WHERE u.name = ?1 AND "
      "t.revoked IS NULL AND t.expires > ?2",
      token.user, token.created));
  if (count.value_or(0) < kMostTokens) return {};
  return fail(Code::kUnprocessable,
              fmt::format("'{}' has {} tokens, the most: revoke some first", token.user, *count));
}

// Call after a change: without an admin nobody could undo it but by the server's socket.
Result<> check_admin_is_left(Writing& writing, bool was_left) {
  const bool left = TRY(has_admin(writing));
  if (was_left && !left)
    return fail(Code::kUnprocessable,
                "the last admin must stay one: make another user admin first");
  return {};
}

}  // namespace

bool valid_user_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMostNameBytes && plain(name.front()) &&
         std::ranges::all_of(name,
                             [&](char c) { return plain(c) || c == '.' || c == '-' || c == '_'; });
}

// The row that it locks makes changes by several servers wait for each other. Never the version of
// another state, as that of a backup would be if it counted up.
Result<> mark_change(Writing& writing) {
  const auto bytes = detail::random_id_bytes();
  std::int64_t version = 0;
  std::memcpy(&version, bytes.data(), sizeof version);
  return writing->exec(
      "INSERT INTO account_state (id, required, version) VALUES (1, 0, ?1) ON CONFLICT (id) DO "
      "UPDATE SET version = ?1",
      version);
}

Result<State> state(Reading& reading) {
  const auto found = TRY(
      sql::read_first(reading->query("SELECT required, version FROM account_state WHERE id = 1"),
                      [](const Statement& row) {
                        return State{.users = row.integer(0) != 0, .version = row.integer(1)};
                      }));
  return found.value_or(State{});
}

Result<> require_users(Writing& writing, bool required) {
  TRY(mark_change(writing));
  return writing->exec("UPDATE account_state SET required = ?1 WHERE id = 1", required ? 1 : 0);
}

Result<std::vector<User>> users(Reading& reading) {
  return sql::read_all(reading->query(std::string(kUserColumns) + "ORDER BY name"), user_at);
}

Result<> add_user(Writing& writing, const User& user) {
  TRY(mark_change(writing));
  TRY(check_identity_is_free(writing, user.identity, user.name));
  const auto added = TRY(writing->number(
      "INSERT INTO users (name, display, role, disabled, created, issuer, subject) VALUES (?1, ?2, "
      "?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO NOTHING RETURNING 1",
      user.name, user.display, number_of(user.role), user.disabled ? 1 : 0, user.created,
      text_or_null(user.identity.issuer), text_or_null(user.identity.subject)));
  if (!added)
    return fail(Code::kAlreadyExists, fmt::format("there is a user '{}' already", user.name));
  return {};
}

Result<std::optional<User>> user_of(Writing& writing, const Identity& identity) {
  return sql::read_first(
      writing->query(std::string(kUserColumns) + "WHERE issuer = ?1 AND subject = ?2",
                     identity.issuer, identity.subject),
      user_at);
}

Result<std::string> free_user_name(Writing& writing, std::string_view wish) {
  constexpr int kNumbers = 9;
  constexpr std::size_t kRandom = 8;
  for (int number = 1;; ++number) {
    const std::string end = number == 1          ? ""
                            : number <= kNumbers ? fmt::format("-{}", number)
                                                 : "-" + RunId::random().hex().substr(0, kRandom);
    std::string name = std::string(wish.substr(0, kMostNameBytes - end.size())) + end;
    const auto taken = TRY(writing->number(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM users WHERE name = ?1) OR EXISTS (SELECT 1 FROM runs "
        "WHERE creator = ?1) OR EXISTS (SELECT 1 FROM notes WHERE author = ?1) OR EXISTS (SELECT 1 "
        "FROM audit WHERE person = ?1)",
        name));
    if (!taken) return name;
  }
}

Result<> change_user(Writing& writing, const UserChange& change) {
  TRY(mark_change(writing));
  const bool had_admin = TRY(has_admin(writing));
  if (change.identity) TRY(set_identity(writing, change.name, *change.identity));
  const auto known = TRY(writing->number(
      "UPDATE users SET display = COALESCE(?2, display), role = COALESCE(?3, role), disabled = "
      "COALESCE(?4, disabled) WHERE name = ?1 RETURNING 1",
      change.name, change.display ? std::optional<std::string_view>(*change.display) : std::nullopt,
      change.role ? std::optional(number_of(*change.role)) : std::nullopt,
      change.disabled ? std::optional<std::int64_t>(*change.disabled ? 1 : 0) : std::nullopt));
  if (!known) return tl::unexpected(no_user(change.name));
  return check_admin_is_left(writing, had_admin);
}

Result<> delete_user(Writing& writing, std::string_view name) {
  TRY(mark_change(writing));
  const bool had_admin = TRY(has_admin(writing));
  const auto id = TRY(writing->number("SELECT id FROM users WHERE name = ?1", name));
  if (!id) return tl::unexpected(no_user(name));
  TRY(writing->exec("DELETE FROM tokens WHERE owner = ?1", *id));
  TRY(writing->exec("DELETE FROM space_members WHERE member = ?1", *id));
  TRY(writing->exec("DELETE FROM team_members WHERE member = ?1", *id));
  TRY(alerts::remove_all_of(writing, *id));
  TRY(writing->exec("DELETE FROM users WHERE id = ?1", *id));
  return check_admin_is_left(writing, had_admin);
}

Result<std::vector<Token>> tokens(Reading& reading) {
  return sql::read_all(
      reading->query("SELECT t.id, t.hash, u.name, t.label, t.role, t.created, t.expires, "
                     "t.revoked, t.parent, t.origin FROM tokens t JOIN users u ON u.id = t.owner "
                     "ORDER BY t.created "
                     "DESC, t.id"),
      [](const Statement& row) {
        Token token{.id = row.text(0),
                    .user = row.text(2),
                    .label = row.text(3),
                    .role = role_at(row, 4),
                    .created = row.utc(5),
                    .expires = row.utc(6),
                    .revoked = row.maybe_utc(7),
                    .parent = row.text(8),
                    .origin = origin_at(row, 9)};
        const sql::Blob hash = row.blob(1);
        // A blob of another length is no hash of any token.
        if (hash.size() == token.hash.size()) {
          std::ranges::copy(hash, token.hash.begin());
        } else {
          token.role = Role::kAnyone;
        }
        return token;
      });
}

Result<> add_token(Writing& writing, Token& token) {
  TRY(mark_change(writing));
  const auto find = [&]() {
    return sql::read_first(
        writing->query("SELECT id, role FROM users WHERE name = ?1", token.user),
        [](const Statement& row) { return std::pair(row.integer(0), role_at(row, 1)); });
  };
  const auto owner = TRY(find());
  if (!owner) return tl::unexpected(no_user(token.user));
  token.role = std::min(token.role, owner->second);
  const auto added = TRY(writing->number(
      "INSERT INTO tokens (id, hash, owner, label, role, created, expires, parent, origin) VALUES "
      "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING RETURNING 1",
      token.id, sql::Blob(token.hash), owner->first, token.label, number_of(token.role),
      token.created, token.expires, text_or_null(token.parent), number_of(token.origin)));
  if (!added)
    return fail(Code::kAlreadyExists, fmt::format("there is a token {} already", token.id));
  return {};
}

// mark_change() comes first: a parent that another server revokes meanwhile is seen to be, or takes
// this one along.
Result<Token> add_child_token(Writing& writing, Token token) {
  TRY(mark_change(writing));
  const auto parent = TRY(sql::read_first(
      writing->query(
          "SELECT u.name, t.role, t.expires, t.origin FROM tokens t JOIN users u ON u.id = "
          "t.owner WHERE t.id = ?1 AND t.revoked IS NULL AND t.expires > ?2 AND "
          "u.disabled = 0",
          token.parent, token.created),
      [](const Statement& row) {
        Token found;
        found.user = row.text(0);
        found.role = role_at(row, 1);
        found.expires = row.utc(2);
        found.origin = origin_at(row, 3);
        return found;
      }));
  if (!parent)
    return fail(Code::kPermission, "the token by which this was allowed does not count any more");
  token.user = parent->user;
  token.role = std::min(token.role, parent->role);
  const bool session = parent->origin == Origin::kSession;
  token.origin = parent->origin == Origin::kToken ? Origin::kToken : Origin::kOfSession;
  token.expires =
      std::min(token.expires, session ? token.created + kMostAfterSession : parent->expires);
  TRY(make_room(writing, token));
  TRY(add_token(writing, token));
  return token;
}

Result<> begin_session(Writing& writing, Token token) {
  TRY(mark_change(writing));
  token.origin = Origin::kSession;
  // Servers look once in a while which tokens have just expired.
  TRY(writing->exec("DELETE FROM tokens WHERE origin = ?2 AND expires <= ?1",
                    token.created - std::chrono::hours(1), number_of(Origin::kSession)));
  return add_token(writing, token);
}

Result<bool> end_session(Writing& writing, std::string_view id) {
  const auto known = TRY(writing->number("SELECT 1 FROM tokens WHERE id = ?1 AND origin = ?2", id,
                                         number_of(Origin::kSession)));
  if (!known) return false;
  TRY(mark_change(writing));
  TRY(writing->exec("DELETE FROM tokens WHERE id = ?1", id));
  return true;
}

Result<bool> is_of_session(Writing& writing, std::string_view id) {
  return TRY(writing->number("SELECT 1 FROM tokens WHERE id = ?1 AND origin <> ?2", id,
                             number_of(Origin::kToken)))
      .has_value();
}

Result<bool> revoke_token(Writing& writing, std::string_view id, UtcTime now,
                          const std::optional<TokensOf>& only) {
  const auto user = only ? std::optional(only->user) : std::nullopt;
  const Role most = only ? only->role : Role::kAdmin;
  const auto revoked = TRY(writing->number(
      "SELECT CASE WHEN t.revoked IS NULL THEN 0 ELSE 1 END FROM tokens t JOIN users u ON u.id = "
      "t.owner WHERE t.id = ?1 AND u.name = COALESCE(?2, u.name) AND (t.role <= ?3 OR u.role <= "
      "?3)",
      id, user, number_of(most)));
  if (!revoked || *revoked == 1) return revoked.has_value();
  TRY(mark_change(writing));
  TRY(writing->exec(
      "WITH RECURSIVE gone (id) AS (SELECT id FROM tokens WHERE id = ?1 UNION SELECT t.id FROM "
      "tokens t JOIN gone g ON t.parent = g.id) UPDATE tokens SET revoked = ?2 WHERE revoked IS "
      "NULL AND id IN (SELECT id FROM gone)",
      id, now));
  return true;
}

}  // namespace corral::store::accounts
