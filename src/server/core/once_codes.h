// OnceCodes: codes that stand for a token in an address that a browser opens, because addresses
// stay in its history and in logs of proxies. Each works once, within a minute, on the server that
// made it. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/guarded.h"
#include "core/time.h"

namespace corral::server {

class OnceCodes {
 public:
  static constexpr Nanos kLifetime = std::chrono::seconds(60);
  static constexpr std::size_t kMost = 1000;  // then those that expire first go

  std::string add(std::string token, BootTime now);
  // The token; nullopt: it was used, is too old, or never was one.
  std::optional<std::string> take(std::string_view code, BootTime now);

 private:
  struct Code {
    std::string token;
    BootTime expires;
  };
  Guarded<std::map<std::string, Code, std::less<>>> codes_;
};

}  // namespace corral::server
