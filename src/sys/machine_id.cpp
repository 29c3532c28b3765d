#include "sys/machine_id.h"

#include <algorithm>

#include "core/ids.h"
#include "core/sha256.h"
#include "core/text.h"

namespace corral::sys {
namespace {

constexpr std::string_view kKey = "corral host timeline";
constexpr const char* kKept = "machine-id";
constexpr std::size_t kMostBytes = 4096;

// A machine's id; "uninitialized" and zeros are none.
std::string id_in(const Result<std::string>& text) {
  const auto id = text ? RunId::parse(trim(*text)) : tl::unexpected(text.error());
  return id && !id->is_nil() ? id->hex() : std::string();
}

}  // namespace

std::string machine_id(const PrivateDirectory& kept) { return machine_id("/etc/machine-id", kept); }

std::string machine_id(const fs::path& etc_machine_id, const PrivateDirectory& kept) {
  if (const std::string id = id_in(read_file(etc_machine_id, kMostBytes)); !id.empty()) {
    const Sha256 hash = hmac_sha256(kKey, id);
    RunId hashed;
    std::copy_n(hash.begin(), hashed.bytes.size(), hashed.bytes.begin());
    return hashed.hex();
  }
  if (std::string id = id_in(kept.read_file(kKept, kMostBytes)); !id.empty()) return id;
  if (!kept.replace_file(kKept, RunId::random().hex() + "\n")) return {};
  return id_in(kept.read_file(kKept, kMostBytes));
}

}  // namespace corral::sys
