#include "spool/segment_identity.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace corral::spool {
namespace {

std::int64_t read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// At most `size - 1` bytes of a small file, NUL-terminated; the number of bytes, 0 on any failure.
std::size_t read_small(const char* path, char* buffer, std::size_t size) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = ::read(fd, buffer, size - 1);
  ::close(fd);
  const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
  buffer[length] = '\0';
  return length;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ProcessStart process_start(std::uint32_t pid) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
  char stat[1024];
  if (read_small(path, stat, sizeof stat) == 0) return {};
  const char* at = std::strrchr(stat, ')');  // the command may hold anything, brackets too
  if (at == nullptr || at[1] != ' ') return {};
  at += 2;
  ProcessStart start{.ticks = 0, .state = *at};
  for (int field = 3; field < 22 && at != nullptr; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  if (at != nullptr) start.ticks = std::strtoull(at, nullptr, 10);
  return start;
}

void read_boot_id(std::uint8_t (&id)[16]) {
  char text[64];
  const std::size_t n = read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
  if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
  parse_hex_id(text, id);
}

bool parse_hex_id(const char* text, std::uint8_t (&id)[16]) {
  std::memset(id, 0, sizeof id);
  std::size_t digits = 0;
  for (; text != nullptr && *text != '\0'; ++text) {
    if (*text == '-') continue;
    const int digit = hex_digit(*text);
    if (digit < 0 || digits == 32) {
      digits = 0;
      break;
    }
    id[digits / 2] = static_cast<std::uint8_t>(id[digits / 2] << 4 | digit);
    ++digits;
  }
  if (digits != 32) std::memset(id, 0, sizeof id);
  return digits == 32;
}

void format_hex_id(const std::uint8_t (&id)[16], char (&text)[33]) {
  for (std::size_t i = 0; i < 16; ++i) {
    text[2 * i] = "0123456789abcdef"[id[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
  }
  text[32] = '\0';
}

void random_bytes(void* data, std::size_t size) {
  auto* at = static_cast<unsigned char*>(data);
  while (size > 0) {
    const ssize_t n = ::syscall(SYS_getrandom, at, size, 0);  // newer than glibc 2.17
    if (n > 0) {
      at += n;
      size -= static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      // No getrandom (a sandbox): the clock and the pid still tell this process's sessions apart.
      const std::uint64_t mixed =
          static_cast<std::uint64_t>(read_clock(CLOCK_BOOTTIME)) * 0x9E3779B97F4A7C15u ^
          static_cast<std::uint64_t>(::getpid()) << 40;
      std::memcpy(at, &mixed, size < sizeof mixed ? size : sizeof mixed);
      return;
    }
  }
}

Anchor segment_anchor() {
  Anchor best{.utc_minus_boot = 0, .error = INT64_MAX};
  for (int i = 0; i < 8; ++i) {
    const std::int64_t before = read_clock(CLOCK_BOOTTIME);
    const std::int64_t utc = read_clock(CLOCK_REALTIME);
    const std::int64_t after = read_clock(CLOCK_BOOTTIME);
    const std::int64_t error = (after - before + 1) / 2;
    if (error < best.error) {
      best = {.utc_minus_boot = utc - before - (after - before) / 2, .error = error};
    }
  }
  return best;
}

std::int64_t number_or(const char* text, std::int64_t fallback) {
  if (text == nullptr || *text < '0' || *text > '9') return fallback;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  return *end == '\0' && errno == 0 ? static_cast<std::int64_t>(value) : fallback;
}

}  // namespace corral::spool
