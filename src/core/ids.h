// Strong ids: no implicit conversion between them, ordered, hashable.
//
// Id128 is random (runs, sessions, workloads): 32 lower-case hex digits outside, 16 bytes inside,
// so that it can be made on a host without a server. Number ids are given by the store. The id of a
// profile is text, because it names files.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/sha256.h"
#include "core/time.h"

namespace corral {

template <class Tag>
struct Id128 {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] std::string hex() const;
  // All zero: "no id".
  [[nodiscard]] bool is_nil() const { return bytes == std::array<std::uint8_t, 16>{}; }
  // 32 hex digits of either case, or kInvalidArgument.
  static Result<Id128> parse(std::string_view hex);
  // From the kernel's random source; thread-safe.
  static Id128 random();

  auto operator<=>(const Id128&) const = default;
};

template <class Tag>
struct NumberId {
  std::int64_t value = 0;
  auto operator<=>(const NumberId&) const = default;
};

using RunId = Id128<struct RunTag>;
using WorkloadId = Id128<struct WorkloadTag>;
using SessionId = Id128<struct SessionTag>;
using ExperimentId = NumberId<struct ExperimentTag>;
using SeriesId = NumberId<struct SeriesTag>;

// The id of the workload that `--workload name` means within an experiment: the same on every host,
// without asking anyone (first 16 bytes of SHA-256 over "experiment NUL name").
WorkloadId workload_id_of(std::string_view experiment, std::string_view name);
// The workload of a run that was started without a workload's name: its own.
WorkloadId own_workload_of(RunId run);

// Most steps of a profile that is asked for while a run is running; python/corral/_profile.py has
// the same.
inline constexpr std::int64_t kMostProfileSteps = 1000;
// The id of such a profile: "torch-2026-11-22T14.44.01.123Z".
std::string make_profile_id(std::string_view tool, UtcTime asked);
// Returns true if it may name files and a folder of a run's artifacts: 1 to 64 letters, digits, -
// and ., the first a letter.
bool is_profile_id(std::string_view id);

namespace detail {
Result<std::array<std::uint8_t, 16>> parse_id_hex(std::string_view hex);
std::array<std::uint8_t, 16> random_id_bytes();
}  // namespace detail

template <class Tag>
std::string Id128<Tag>::hex() const {
  return corral::hex(bytes);
}
template <class Tag>
Result<Id128<Tag>> Id128<Tag>::parse(std::string_view hex) {
  return detail::parse_id_hex(hex).map([](auto b) { return Id128<Tag>{b}; });
}
template <class Tag>
Id128<Tag> Id128<Tag>::random() {
  return Id128<Tag>{detail::random_id_bytes()};
}

}  // namespace corral

template <class Tag>
struct std::hash<corral::Id128<Tag>> {
  std::size_t operator()(const corral::Id128<Tag>& id) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, id.bytes.data(), sizeof h);
    return h;
  }
};
template <class Tag>
struct std::hash<corral::NumberId<Tag>> {
  std::size_t operator()(const corral::NumberId<Tag>& id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
