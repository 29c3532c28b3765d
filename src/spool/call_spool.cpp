#include "spool/call_spool.h"

#include <fmt/core.h>

#include "core/ids.h"
#include "core/limits.h"
#include "spool/artifact_spool.h"
#include "spool/run_directory.h"
#include "sys/clock.h"

namespace corral::spool {
namespace {

constexpr const char* kFolder = "calls";
constexpr std::size_t kNameBytes = 20 + 1 + 32;

fs::path place_of(const std::string& name) { return fs::path(kFolder) / name; }

}  // namespace

Result<> keep_call(const sys::PrivateDirectory& directory, const Call& call) {
  const sys::PrivateDirectory folder = TRY(directory.make_directory(kFolder));
  const std::string name =
      fmt::format("{:020}-{}", ns_of(sys::boot_now()), SessionId::random().hex());
  return folder.replace_file(name, call.path + "\n" + call.body, false);
}

std::vector<std::string> waiting_calls(const sys::PrivateDirectory& directory) {
  std::vector<std::string> names = directory.list(kFolder);
  std::erase_if(names, [](const std::string& name) {
    return name.size() != kNameBytes || name.find_first_not_of("0123456789abcdef-") != name.npos;
  });
  return names;
}

Result<Call> read_call(const sys::PrivateDirectory& directory, const std::string& name) {
  const std::string text = TRY(directory.read_file(place_of(name), 2 * limits::kBodyBytes));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos)
    return fail(Code::kCorruption, (directory.path() / place_of(name)).string() + ": not a call");
  return Call{.path = text.substr(0, end), .body = text.substr(end + 1)};
}

void forget_call(const sys::PrivateDirectory& directory, const std::string& name) {
  directory.remove(place_of(name));
}

Result<> put_call_aside(const sys::PrivateDirectory& directory, const std::string& name) {
  TRY(directory.make_directory(kRefused));
  return directory.rename(place_of(name), fs::path(kRefused) / ("call-" + name));
}

bool anything_waits(const sys::PrivateDirectory& directory) {
  return !waiting_calls(directory).empty() || has_waiting_artifacts(directory);
}

}  // namespace corral::spool
