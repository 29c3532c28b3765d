#include "core/sha256.h"

#include <openssl/sha.h>

namespace corral {

Sha256 sha256(std::string_view text) {
  Sha256 digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace corral
