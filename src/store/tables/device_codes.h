// Device codes: programs that ask to act for a user, after RFC 8628. Rows of `device_codes`.
//
// A program keeps a secret and shows a person a short code, which the person types where they are
// signed in, and allows or refuses. Free functions over the caller's snapshot or transaction. Only
// the hash of the secret is stored. Rows that have expired are ignored, and deleted by
// add_device().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/role.h"
#include "core/sha256.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::accounts {

inline constexpr std::int64_t kMostDevices = 1000;

struct Device {
  Sha256 secret{};      // its hash
  std::string code;     // as new_device_code() makes it
  std::string client;   // the name that the program gives itself; see valid_client_name()
  std::string address;  // from where it asked; may be empty
  UtcTime expires{};
};

// The answer of a user: the program gets a token of this role. kAnyone: none, it is refused.
struct DeviceAnswer {
  std::string token;  // id of the one by which the user said it
  Role role = Role::kAnyone;
  Device asked = {};
};

// 1 to 64 letters, digits, '.', '-' and '_', so that nothing else can be read into it.
bool valid_client_name(std::string_view name);

// Eight random consonants, "BCDF-GHJK": they form no words, and none is like a digit.
std::string new_device_code();
// The code in what a person typed: blanks, hyphens and case do not count. Empty: it is none.
std::string read_device_code(std::string_view typed);

// kUnavailable: kMostDevices wait. kAlreadyExists: its code is in use.
Result<> add_device(Writing& writing, const Device& device, UtcTime now);
// One that waits for an answer.
Result<std::optional<Device>> device(Reading& reading, std::string_view code, UtcTime now);
// False: none with this code waits for an answer.
Result<bool> answer_device(Writing& writing, std::string_view code, const DeviceAnswer& answer,
                           UtcTime now);
// An empty answer: nobody has answered yet. kNotFound: none with this secret is known.
Result<std::optional<DeviceAnswer>> device_answer(Reading& reading, const Sha256& secret,
                                                  UtcTime now);
// Forgets it. False: it was taken already.
Result<bool> take_device(Writing& writing, const Sha256& secret);

}  // namespace corral::store::accounts
