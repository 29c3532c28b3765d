// Role and Principal: what a user of a store, or a token of one, may do there, and who it is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral {

// Each may do what those before it may. The numbers are stored.
enum class Role : std::uint8_t {
  kAnyone = 0,  // nobody in particular: without a token
  kReader = 1,  // reads and exports
  kWriter = 2,  // records runs, and changes them and what people wrote; replaces files
  kOwner = 3,   // deletes runs, models and files for good
  kAdmin = 4,   // manages users and their tokens
};

// Names of the roles that a user can have, in the order of the numbers from 1.
inline constexpr std::array<std::string_view, 4> kRoleNames = {"reader", "writer", "owner",
                                                               "admin"};

// "anyone" for kAnyone.
constexpr std::string_view role_name(Role role) {
  return role == Role::kAnyone ? "anyone" : kRoleNames.at(static_cast<std::size_t>(role) - 1);
}

// The user behind a request, and what the user may do by it.
struct Principal {
  std::string user;  // empty: the owner of the server's Unix socket, or nobody known
  Role role = Role::kAnyone;
  std::string token = {};  // id of the token by which the request came; or empty
};

}  // namespace corral
