#include "sys/thread_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace corral::sys {
namespace {

constexpr std::int64_t kReportEverySeconds = 1;
constexpr auto kPause = std::chrono::milliseconds(500);
constexpr auto kSlice = std::chrono::milliseconds(10);
constexpr int kShownBytes = 200;  // length of an exception's message

std::atomic<std::uint64_t> failures{0};
std::atomic<std::int64_t> last_reported{-kReportEverySeconds};  // steady clock, seconds

bool may_report() noexcept {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
  std::int64_t last = last_reported.load();
  return now - last >= kReportEverySeconds && last_reported.compare_exchange_strong(last, now);
}

int shown(std::string_view text) noexcept {
  return static_cast<int>(std::min<std::size_t>(text.size(), kShownBytes));
}

}  // namespace

std::uint64_t thread_failures() noexcept { return failures.load(); }

// Memory may have run out: nothing is allocated.
void note_thread_failure(std::string_view who, std::string_view what) noexcept {
  const std::uint64_t count = failures.fetch_add(1) + 1;
  if (!may_report()) return;
  std::array<char, 512> line;
  const int n = std::snprintf(line.data(), line.size(),
                              "corral: %.*s failed: %.*s (failure %llu)\n", shown(who), who.data(),
                              shown(what), what.data(), static_cast<unsigned long long>(count));
  if (n <= 0) return;
  const auto bytes = std::min(static_cast<std::size_t>(n), line.size() - 1);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), bytes);
}

// In slices and without a condition variable, which may throw.
bool pause_after_failure(const std::stop_token& stop) noexcept {
  for (auto left = kPause; left.count() > 0 && !stop.stop_requested(); left -= kSlice)
    std::this_thread::sleep_for(kSlice);
  return !stop.stop_requested();
}

SignalsBlocked::SignalsBlocked() {
  sigset_t most;
  ::sigfillset(&most);
  for (const int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) ::sigdelset(&most, s);
  ::pthread_sigmask(SIG_SETMASK, &most, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Error no_thread(std::string_view who, std::string_view why) {
  return {.code = Code::kUnavailable,
          .message = "no thread for " + std::string(who) + ": " + std::string(why)};
}

}  // namespace corral::sys
