#include "cli/retention.h"

#include <fmt/core.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>

#include "cli/answers.h"
#include "cli/table.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

constexpr std::chrono::hours kEvery{1};
constexpr std::int64_t kMostDays = 36'500;

void prune(store::Store& store, const store::Retention& retention) {
  const auto removal = store.prune(retention, sys::utc_now(), false);
  if (!removal) {
    complain("serve", "removing old runs: " + removal.error().message);
    return;
  }
  if (removal->runs.empty()) return;
  fmt::print(stderr, "corral serve: removed {} old run{}: {} points, {}\n", removal->runs.size(),
             removal->runs.size() == 1 ? "" : "s", removal->points,
             with_unit(static_cast<double>(removal->bytes), "B"));
  for (const RunId& run : removal->runs) fmt::print(stderr, "  {}\n", run.hex());
}

}  // namespace

Result<store::Retention> retention_of(const RetentionFlags& flags) {
  store::Retention retention;
  if (!flags.days.empty()) {
    const auto days = parse_int(flags.days);
    if (!days || *days < 1 || *days > kMostDays) {
      return fail(Code::kInvalidArgument,
                  fmt::format("--keep-days wants a number of days from 1 to {}, not '{}'",
                              kMostDays, flags.days));
    }
    retention.age = std::chrono::hours(24) * *days;
  }
  if (flags.bytes > 0) retention.bytes = flags.bytes;
  return retention;
}

server::BackgroundJob keep_within(store::Store& store, const store::Retention& retention) {
  return [&store, retention](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      prune(store, retention);
      wake.wait_for(lock, stop, kEvery, [] { return false; });
    }
  };
}

}  // namespace corral::cli
