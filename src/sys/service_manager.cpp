#include "sys/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/text.h"
#include "sys/fd.h"

namespace corral::sys {

bool tell_service_manager(std::string_view state) {
  const char* const named = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = named != nullptr ? named : "";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(&address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract name
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&address),
                  bytes) == static_cast<ssize_t>(state.size());
}

std::optional<Nanos> watchdog_interval() {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? parse_int(text) : std::nullopt;
  };
  const auto microseconds = number("WATCHDOG_USEC");
  const auto process = number("WATCHDOG_PID");
  if (!microseconds || *microseconds < 1 || process.value_or(::getpid()) != ::getpid())
    return std::nullopt;
  return std::chrono::microseconds(*microseconds);
}

}  // namespace corral::sys
