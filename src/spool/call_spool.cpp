#include "spool/call_spool.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "core/ids.h"
#include "core/limits.h"
#include "spool/artifact_spool.h"
#include "spool/run_directory.h"
#include "sys/clock.h"

namespace corral::spool {
namespace {

constexpr const char* kFolder = "calls";
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateDirectory = 0700;
constexpr std::size_t kNameBytes = 20 + 1 + 32;

}  // namespace

Result<> keep_call(const fs::path& run_directory, const Call& call) {
  const fs::path folder = run_directory / kFolder;
  TRY(sys::make_directories(folder, kPrivateDirectory));
  const std::string name =
      fmt::format("{:020}-{}", ns_of(sys::boot_now()), SessionId::random().hex());
  return sys::replace_file(folder / name, call.path + "\n" + call.body, kPrivateFile, false);
}

std::vector<fs::path> waiting_calls(const fs::path& run_directory) {
  std::vector<fs::path> waiting;
  const fs::path folder = run_directory / kFolder;
  for (const std::string& name : sys::list_directory(folder)) {
    if (name.size() == kNameBytes && name.find_first_not_of("0123456789abcdef-") == name.npos)
      waiting.push_back(folder / name);
  }
  return waiting;
}

Result<Call> read_call(const fs::path& place) {
  const std::string text = TRY(sys::read_file(place, 2 * limits::kBodyBytes));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return fail(Code::kCorruption, place.string() + ": not a call");
  return Call{.path = text.substr(0, end), .body = text.substr(end + 1)};
}

void forget_call(const fs::path& place) {
  std::error_code error;
  fs::remove(place, error);
}

Result<> put_call_aside(const fs::path& run_directory, const fs::path& place) {
  TRY(sys::make_directories(run_directory / kRefused, kPrivateDirectory));
  const fs::path to = run_directory / kRefused / ("call-" + place.filename().string());
  if (::rename(place.c_str(), to.c_str()) != 0) return fail_errno(to.string(), errno);
  return {};
}

bool anything_waits(const fs::path& run_directory) {
  return !waiting_calls(run_directory).empty() || has_waiting_artifacts(run_directory);
}

}  // namespace corral::spool
