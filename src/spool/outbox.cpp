#include "spool/outbox.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>

#include "core/limits.h"
#include "spool/run_directory.h"
#include "sys/clock.h"

namespace corral::spool {
namespace {

constexpr const char* kArtifactFolder = "artifacts";
constexpr const char* kName = "name";
constexpr const char* kData = "data";
constexpr std::size_t kNameBytes = 64u << 10;
constexpr std::size_t kCopyBytes = 1u << 30;
constexpr std::size_t kIdDigits = 32;

fs::path artifact_folder(const std::string& id) { return fs::path(kArtifactFolder) / id; }

bool is_id(const std::string& name) {
  return name.size() == kIdDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<> copy(int from, int to) {
  off_t at = 0;
  for (;;) {
    const ssize_t n = ::copy_file_range(from, &at, to, nullptr, kCopyBytes, 0);
    if (n == 0) return {};
    if (n < 0) return fail_errno("copy an artifact", errno);
  }
}

// Nothing: it has no name that can be read.
std::optional<WaitingArtifact> artifact_in(const sys::PrivateDirectory& directory,
                                           const std::string& id) {
  const auto name = directory.read_file(artifact_folder(id) / kName, kNameBytes);
  const std::size_t end = name ? name->find('\n') : std::string::npos;
  if (end == std::string::npos) return std::nullopt;
  const auto run = RunId::parse(std::string_view(*name).substr(0, end));
  const auto facts = directory.facts(artifact_folder(id) / kName);
  if (!run || !facts) return std::nullopt;
  constexpr std::int64_t kSecond = 1'000'000'000;
  return WaitingArtifact{.id = id,
                         .run = *run,
                         .path = name->substr(end + 1),
                         .kept = facts->st_mtim.tv_sec * kSecond + facts->st_mtim.tv_nsec};
}

}  // namespace

std::vector<WaitingArtifact> waiting_artifacts(const sys::PrivateDirectory& directory) {
  std::vector<WaitingArtifact> waiting;
  for (const std::string& id : directory.list(kArtifactFolder)) {
    auto artifact = is_id(id) ? artifact_in(directory, id) : std::nullopt;
    if (artifact) waiting.push_back(*std::move(artifact));
  }
  std::ranges::sort(waiting, {},
                    [](const WaitingArtifact& one) { return std::tie(one.kept, one.id); });
  return waiting;
}

bool has_waiting_artifacts(const sys::PrivateDirectory& directory) {
  return std::ranges::any_of(directory.list(kArtifactFolder), [&](const std::string& id) {
    return is_id(id) && artifact_in(directory, id).has_value();
  });
}

namespace {

// `fill(descriptor)` writes the content.
template <class Fill>
Result<> keep(const sys::PrivateDirectory& directory, RunId run, std::string_view path, Fill fill) {
  const std::string id = RunId::random().hex();
  const fs::path draft = artifact_folder("new-" + id);
  const sys::PrivateDirectory folder = TRY(directory.make_directory(draft));
  Result<> kept = [&]() -> Result<> {
    const sys::Fd data = TRY(folder.open_file(kData, O_WRONLY | O_CREAT));
    TRY(fill(data.get()));
    TRY(folder.replace_file(kName, run.hex() + "\n" + std::string(path), false));
    return directory.rename(draft, artifact_folder(id));
  }();
  if (!kept) directory.remove_all(draft);
  return kept;
}

}  // namespace

Result<> keep_artifact(const sys::PrivateDirectory& directory, RunId run, std::string_view path,
                       int file) {
  return keep(directory, run, path, [file](int to) { return copy(file, to); });
}

Result<> keep_artifact(const sys::PrivateDirectory& directory, RunId run, std::string_view path,
                       std::string_view content) {
  return keep(directory, run, path, [content](int to) { return sys::write_all(to, content); });
}

Result<sys::Fd> open_artifact(const sys::PrivateDirectory& directory,
                              const WaitingArtifact& artifact) {
  return directory.open_file(artifact_folder(artifact.id) / kData, O_RDONLY);
}

void delete_artifact(const sys::PrivateDirectory& directory, const WaitingArtifact& artifact) {
  // Its name is removed first: the remains after a kill then belong to no artifact.
  directory.remove(artifact_folder(artifact.id) / kName);
  directory.remove_all(artifact_folder(artifact.id));
}

Result<> keep_left_reports(const sys::PrivateDirectory& directory, RunId run) {
  for (const std::string_view ending : kReportEndings) {
    const std::string name = "report" + std::string(ending);
    const fs::path report = fs::path("profile") / name;
    if (!directory.exists(report)) continue;
    const sys::Fd file = TRY(directory.open_file(report, O_RDONLY));
    TRY(keep_artifact(directory, run, "profile/without-summary/" + name, file.get()));
    directory.remove(report);
  }
  return {};
}

Result<> refuse_artifact(const sys::PrivateDirectory& directory, const WaitingArtifact& artifact) {
  TRY(directory.make_directory(kRefused));
  return directory.rename(artifact_folder(artifact.id),
                          fs::path(kRefused) / ("artifact-" + artifact.id));
}

// ---- Calls

namespace {

constexpr const char* kCallFolder = "calls";
constexpr std::size_t kCallNameBytes = 20 + 1 + 32;

fs::path call_path(const std::string& name) { return fs::path(kCallFolder) / name; }

}  // namespace

Result<> keep_call(const sys::PrivateDirectory& directory, const Call& call) {
  const sys::PrivateDirectory folder = TRY(directory.make_directory(kCallFolder));
  const std::string name =
      fmt::format("{:020}-{}", ns_of(sys::boot_now()), SessionId::random().hex());
  return folder.replace_file(name, call.path + "\n" + call.body, false);
}

std::vector<std::string> waiting_calls(const sys::PrivateDirectory& directory) {
  std::vector<std::string> names = directory.list(kCallFolder);
  std::erase_if(names, [](const std::string& name) {
    return name.size() != kCallNameBytes ||
           name.find_first_not_of("0123456789abcdef-") != name.npos;
  });
  return names;
}

Result<Call> read_call(const sys::PrivateDirectory& directory, const std::string& name) {
  const std::string text = TRY(directory.read_file(call_path(name), 2 * limits::kBodyBytes));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos)
    return fail(Code::kCorruption, (directory.path() / call_path(name)).string() + ": not a call");
  return Call{.path = text.substr(0, end), .body = text.substr(end + 1)};
}

void delete_call(const sys::PrivateDirectory& directory, const std::string& name) {
  directory.remove(call_path(name));
}

Result<> refuse_call(const sys::PrivateDirectory& directory, const std::string& name) {
  TRY(directory.make_directory(kRefused));
  return directory.rename(call_path(name), fs::path(kRefused) / ("call-" + name));
}

bool anything_waits(const sys::PrivateDirectory& directory) {
  return !waiting_calls(directory).empty() || has_waiting_artifacts(directory);
}

}  // namespace corral::spool
