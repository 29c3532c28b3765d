#include "core/ids.h"

#include <sys/random.h>

#include <algorithm>

namespace corral {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::size_t kProfileIdBytes = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Result<std::array<std::uint8_t, 16>> detail::parse_id_hex(std::string_view hex) {
  if (hex.size() != 32) {
    return fail(Code::kInvalidArgument,
                "an id has 32 hex digits, got " + std::to_string(hex.size()) + " characters");
  }
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 32; ++i) {
    const int digit = hex_digit(hex[i]);
    if (digit < 0)
      return fail(Code::kInvalidArgument,
                  "an id has 32 hex digits, got '" + std::string(hex) + "'");
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return bytes;
}

std::array<std::uint8_t, 16> detail::random_id_bytes() {
  std::array<std::uint8_t, 16> bytes{};
  // 16 bytes never block nor come back short once the kernel's pool is initialised (getrandom(2)).
  const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
  CORRAL_ASSERT(n == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

WorkloadId workload_id_of(std::string_view experiment, std::string_view name) {
  std::string text(experiment);
  text.push_back('\0');
  text.append(name);
  const Sha256 digest = sha256(text);
  WorkloadId id;
  std::memcpy(id.bytes.data(), digest.data(), id.bytes.size());
  return id;
}

WorkloadId own_workload_of(RunId run) { return WorkloadId{run.bytes}; }

std::string make_profile_id(std::string_view tool, UtcTime asked) {
  std::string id = std::string(tool) + "-" + iso_utc(asked);
  std::ranges::replace(id, ':', '.');
  return id;
}

bool is_profile_id(std::string_view id) {
  return !id.empty() && id.size() <= kProfileIdBytes && is_letter(id.front()) &&
         std::ranges::all_of(id, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace corral
