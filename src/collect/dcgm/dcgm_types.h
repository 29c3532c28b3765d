// The part of DCGM's C interface that is used here, declared by hand, the same in libdcgm.so.3 and
// libdcgm.so.4.
//
// A struct with a version word says its size and layout: size | version << 24. DCGM marks a missing
// value with numbers that no measurement reaches (blanks).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace corral::collect::dcgm {

enum class Status : int {
  kOk = 0,
  kBadParameter = -1,
  kNotConfigured = -5,
  kNotSupported = -6,
  kTimeout = -11,
  kVersionMismatch = -12,
  kUnknownField = -13,
  kNoData = -14,
  kStaleData = -15,
  kNotWatched = -16,
  kNoPermission = -17,
  kGpuIsLost = -18,
  kResetRequired = -19,
  kFunctionNotFound = -20,
  kConnectionNotValid = -21,
  kMaxLimit = -24,
  kRequiresRoot = -29,
  kModuleNotLoaded = -33,
  kProfilingNotSupported = -36,
};

using Handle = std::uintptr_t;
using GroupId = std::uintptr_t;
using FieldGroupId = std::uintptr_t;
using FieldId = unsigned short;

inline constexpr unsigned kMostGpus = 32;
inline constexpr unsigned kMostEntities = 64;  // in one call
inline constexpr int kEmptyGroup = 1;

enum class EntityGroup : unsigned { kGpu = 1, kGpuInstance = 4 };
struct Entity {
  EntityGroup group = EntityGroup::kGpu;
  unsigned id = 0;
  bool operator==(const Entity&) const = default;
};

template <class Struct>
constexpr unsigned version_word(unsigned version) {
  return static_cast<unsigned>(sizeof(Struct)) | (version << 24U);
}

struct ConnectOptions {
  unsigned version;
  unsigned keep_after_disconnect;  // 0: the host engine removes the connection's objects
  unsigned timeout_ms;
  unsigned address_is_unix_socket;
};
inline constexpr unsigned kConnectVersion = version_word<ConnectOptions>(2);

struct FieldValue {
  unsigned version;
  Entity entity;
  FieldId field;
  unsigned short type;  // 'd', 'i', 's', ...
  Status status;
  unsigned unused;
  std::int64_t time_us;  // since 1970
  alignas(8) std::array<char, 4096> content;

  [[nodiscard]] double real() const { return as<double>(); }
  [[nodiscard]] std::int64_t integer() const { return as<std::int64_t>(); }

 private:
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    std::memcpy(&value, content.data(), sizeof value);
    return value;
  }
};
static_assert(sizeof(FieldValue) == 4128 && offsetof(FieldValue, content) == 32);
inline constexpr unsigned kFieldValueVersion = version_word<FieldValue>(2);

inline constexpr std::int64_t kIntegerBlank = 0x7ffffffffffffff0;
// for fields that were 32 bits wide at first
inline constexpr std::int64_t kNarrowBlank = 0x7ffffff0;
inline constexpr double kRealBlank = 140737488355328.0;
enum class Blank : int { kNone = -1, kNoValue = 0, kNotFound = 1, kNotSupported = 2, kRefused = 3 };

struct MigEntity {
  Entity entity;
  Entity parent;
  std::array<char, 128> gpu_uuid;
  unsigned gpu_index;  // NVML's
  unsigned gpu_instance;
  unsigned compute_instance;
  unsigned profile;
  unsigned slices;
};
static_assert(sizeof(MigEntity) == 164);
struct MigHierarchy {
  unsigned version;
  unsigned count;
  std::array<MigEntity, std::size_t{kMostGpus} * 14> entities;
};
inline constexpr unsigned kMigHierarchyVersion = version_word<MigHierarchy>(2);

}  // namespace corral::collect::dcgm
