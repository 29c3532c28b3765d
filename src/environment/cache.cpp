#include "environment/cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>

#include "core/text.h"
#include "environment/tool.h"
#include "sys/private_directory.h"

namespace corral::environment {
namespace {

constexpr const char* kStamp = ".corral";
constexpr int kPollMs = 100;

Result<sys::Fd> lock_build(const sys::PrivateDirectory& cache, const Build& build,
                           const PrepareOptions& options) {
  bool reported = false;
  for (;;) {
    auto held = cache.try_lock_file(build.key + ".lock");
    if (held || held.error().code != Code::kUnavailable) return held;
    if (!reported) report_progress(options, build.words + ": another process builds it; waiting");
    reported = true;
    if (is_cancelled(options)) return fail(Code::kUnavailable, "interrupted");
    ::poll(nullptr, 0, kPollMs);
  }
}

Result<> make_stamped(const Build& build, const sys::PrivateDirectory& cache) {
  TRY(build.make(cache.path() / build.key));
  return cache.replace_file(fs::path(build.key) / kStamp, build.made_from);
}

}  // namespace

Result<fs::path> build_once(const Build& build, const PrepareOptions& options) {
  const sys::PrivateDirectory cache = TRY(sys::PrivateDirectory::make(options.cache));
  const fs::path place = cache.path() / build.key;
  const fs::path stamp = fs::path(build.key) / kStamp;
  if (cache.open_file(stamp, O_RDONLY)) return place;
  const sys::Fd lock = TRY(lock_build(cache, build, options));
  if (cache.open_file(stamp, O_RDONLY)) return place;
  cache.remove_all(build.key);  // left by a builder that was killed
  report_progress(options, "building " + build.words);
  const auto made = make_stamped(build, cache);
  if (made) return place;
  cache.remove_all(build.key);
  return tl::unexpected(made.error());
}

}  // namespace corral::environment
