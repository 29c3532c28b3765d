// Texts of a provider of sign-in: its keys, an ID token, and the token's claims. The first byte
// says which; no token counts that no key has signed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oidc/id_token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace oidc = corral::oidc;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 'k') {
    const auto keys = oidc::Keys::parse(text);
    if (keys && oidc::verify_signature("e30.e30.", *keys)) std::abort();
  } else if (data[0] == 't') {
    if (oidc::verify_signature(text, oidc::Keys())) std::abort();
  } else {
    const oidc::Expected expected{.issuer = "https://id.lab", .client = "corral", .nonce = "n"};
    const auto now = corral::utc_time(1'800'000'000'000'000'000);
    const auto who = oidc::check_claims(text, expected, now);
    if (who && (who->subject.empty() || text.find("corral") == std::string_view::npos))
      std::abort();
  }
  return 0;
}
