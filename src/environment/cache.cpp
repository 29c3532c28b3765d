#include "environment/cache.h"

#include <fmt/core.h>
#include <poll.h>

#include "core/text.h"
#include "environment/tool.h"
#include "sys/fd.h"

namespace corral::environment {
namespace {

constexpr const char* kStamp = ".corral";
constexpr int kPollMs = 100;

Result<sys::Fd> lock_build(const fs::path& lock, const Build& build,
                           const PrepareOptions& options) {
  bool told = false;
  for (;;) {
    auto held = sys::try_lock_file(lock);
    if (held || held.error().code != Code::kUnavailable) return held;
    if (!told) tell(options, build.words + ": another process builds it; waiting");
    told = true;
    if (is_cancelled(options)) return fail(Code::kUnavailable, "interrupted");
    ::poll(nullptr, 0, kPollMs);
  }
}

Result<> make_stamped(const Build& build, const fs::path& place) {
  TRY(build.make(place));
  return sys::replace_file(place / kStamp, build.made_from);
}

}  // namespace

Result<fs::path> build_once(const Build& build, const PrepareOptions& options) {
  const fs::path place = options.cache / build.key;
  std::error_code error;
  if (fs::exists(place / kStamp, error)) return place;
  TRY(sys::make_directories(options.cache, 0700));
  const sys::Fd lock = TRY(lock_build(options.cache / (build.key + ".lock"), build, options));
  if (fs::exists(place / kStamp, error)) return place;
  fs::remove_all(place, error);  // of a builder that was killed
  tell(options, "building " + build.words);
  const auto made = make_stamped(build, place);
  if (made) return place;
  fs::remove_all(place, error);
  return tl::unexpected(made.error());
}

}  // namespace corral::environment
