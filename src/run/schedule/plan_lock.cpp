#include "run/schedule/plan_lock.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/json.h"
#include "sys/socket.h"

namespace corral::run::schedule {
namespace {

constexpr const char* kLockName = "lock";

std::string holder_of(const sys::PrivateDirectory& files) {
  const auto text = files.read_file(kLockName, 4096);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || json->as_object() == nullptr) return "another scheduler";
  return fmt::format("process {} on {}, since {}", json->get_int("pid"), json->get_string("host"),
                     json->get_string("since"));
}

// True if the process that wrote the file was on this host and has ended.
bool holder_is_gone(const sys::PrivateDirectory& files) {
  const auto text = files.read_file(kLockName, 4096);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || json->get_string("host") != sys::host_name()) return false;
  const auto pid = static_cast<pid_t>(json->get_int("pid"));
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

// A killed scheduler's lock lives on for a moment in a child that had not executed its program yet.
Result<sys::Fd> lock_of(const sys::PrivateDirectory& files) {
  constexpr int kTries = 200;
  constexpr auto kPause = std::chrono::milliseconds(10);
  auto file = files.try_lock_file(kLockName);
  for (int i = 0; i < kTries; ++i) {
    if (file || file.error().code != Code::kUnavailable || !holder_is_gone(files)) break;
    std::this_thread::sleep_for(kPause);
    file = files.try_lock_file(kLockName);
  }
  return file;
}

}  // namespace

Result<PlanLock> PlanLock::take(const std::filesystem::path& directory, UtcTime now) {
  const auto files = TRY(sys::PrivateDirectory::make(directory));
  auto file = lock_of(files);
  if (!file && file.error().code == Code::kUnavailable)
    return fail(Code::kUnavailable, "the plan is being run by " + holder_of(files));
  if (!file) return tl::unexpected(file.error());
  const Json holder = Json::Object{
      {"pid", std::int64_t{::getpid()}}, {"host", sys::host_name()}, {"since", iso_utc(now)}};
  const std::string text = holder.dump() + "\n";
  if (::ftruncate(file->get(), 0) == 0) TRY(sys::write_all(file->get(), text));
  return PlanLock(std::move(*file));
}

std::vector<std::string> PlanLock::others(const std::filesystem::path& directory) {
  std::vector<std::string> found;
  const auto plans = sys::PrivateDirectory::open(directory.parent_path());
  for (const std::string& name : plans ? plans->list() : std::vector<std::string>()) {
    if (name == directory.filename()) continue;
    std::string words = holder(directory.parent_path() / name);
    // Hosts may share a home; schedulers of other hosts are not listed.
    if (words.find(fmt::format(" on {},", sys::host_name())) != std::string::npos)
      found.push_back(std::move(words));
  }
  return found;
}

std::string PlanLock::holder(const std::filesystem::path& directory) {
  const auto files = sys::PrivateDirectory::open(directory);
  if (!files || !files->exists(kLockName)) return {};
  const auto file = files->try_lock_file(kLockName);
  const bool held = !file && file.error().code == Code::kUnavailable;
  return held ? holder_of(*files) : std::string();
}

}  // namespace corral::run::schedule
