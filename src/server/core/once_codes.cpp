#include "server/core/once_codes.h"

#include <algorithm>

#include "core/ids.h"

namespace corral::server {

std::string OnceCodes::add(std::string token, BootTime now) {
  std::string code = RunId::random().hex();
  codes_.with([&](auto& codes) {
    std::erase_if(codes, [&](const auto& one) { return one.second.expires <= now; });
    if (codes.size() >= kMost) {
      codes.erase(
          std::ranges::min_element(codes, {}, [](const auto& one) { return one.second.expires; }));
    }
    codes.emplace(code, Code{.token = std::move(token), .expires = now + kLifetime});
  });
  return code;
}

std::optional<std::string> OnceCodes::take(std::string_view code, BootTime now) {
  return codes_.with([&](auto& codes) -> std::optional<std::string> {
    const auto found = codes.find(code);
    if (found == codes.end()) return std::nullopt;
    const Code taken = std::move(found->second);
    codes.erase(found);
    return taken.expires > now ? std::optional(taken.token) : std::nullopt;
  });
}

}  // namespace corral::server
