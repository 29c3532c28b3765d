#include "spool/artifact_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "spool/run_directory.h"

namespace corral::spool {
namespace {

constexpr const char* kFolder = "artifacts";
constexpr const char* kName = "name";
constexpr const char* kData = "data";
constexpr std::size_t kNameBytes = 64u << 10;
constexpr std::size_t kCopyBytes = 1u << 30;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateDirectory = 0700;
constexpr std::size_t kIdDigits = 32;

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

}  // namespace

std::vector<WaitingArtifact> waiting_artifacts(const fs::path& run_directory) {
  std::vector<WaitingArtifact> waiting;
  const fs::path folder = run_directory / kFolder;
  for (const std::string& id : sys::list_directory(folder)) {
    if (!is_id(id)) continue;
    const auto name = sys::read_file(folder / id / kName, kNameBytes);
    const std::size_t end = name ? name->find('\n') : std::string::npos;
    if (end == std::string::npos) continue;
    const auto run = RunId::parse(std::string_view(*name).substr(0, end));
    std::error_code error;
    if (run)
      waiting.push_back({.place = folder / id,
                         .run = *run,
                         .path = name->substr(end + 1),
                         .kept = fs::last_write_time(folder / id / kName, error)});
  }
  std::ranges::sort(waiting, {}, &WaitingArtifact::kept);
  return waiting;
}

bool has_waiting_artifacts(const fs::path& run_directory) {
  return !waiting_artifacts(run_directory).empty();
}

Result<> keep_artifact(const fs::path& run_directory, RunId run, std::string_view path, int file) {
  const std::string id = RunId::random().hex();
  const fs::path place = run_directory / kFolder / ("new-" + id);
  TRY(sys::make_directories(place, kPrivateDirectory));
  Result<> kept = [&]() -> Result<> {
    const sys::Fd data = TRY(sys::open_file(place / kData, O_WRONLY | O_CREAT, kPrivateFile));
    TRY(copy(file, data.get()));
    TRY(sys::replace_file(place / kName, run.hex() + "\n" + std::string(path), kPrivateFile,
                          false));
    if (::rename(place.c_str(), (run_directory / kFolder / id).c_str()) != 0)
      return fail_errno(place.string(), errno);
    return {};
  }();
  std::error_code error;
  if (!kept) fs::remove_all(place, error);
  return kept;
}

Result<sys::Fd> open_artifact(const WaitingArtifact& artifact) {
  return sys::open_file(artifact.place / kData, O_RDONLY);
}

void forget_artifact(const WaitingArtifact& artifact) {
  std::error_code error;
  // Its name first: what is left after a kill is then nobody's artifact.
  fs::remove(artifact.place / kName, error);
  fs::remove_all(artifact.place, error);
}

Result<> keep_left_reports(const fs::path& run_directory, RunId run) {
  for (const std::string_view ending : kReportEndings) {
    const std::string name = "report" + std::string(ending);
    const fs::path report = run_directory / "profile" / name;
    std::error_code error;
    if (!fs::exists(report, error)) continue;
    const sys::Fd file = TRY(sys::open_file(report, O_RDONLY));
    TRY(keep_artifact(run_directory, run, "profile/without-summary/" + name, file.get()));
    fs::remove(report, error);
  }
  return {};
}

Result<> put_artifact_aside(const fs::path& run_directory, const WaitingArtifact& artifact) {
  TRY(sys::make_directories(run_directory / kRefused, kPrivateDirectory));
  const fs::path to = run_directory / kRefused / ("artifact-" + artifact.place.filename().string());
  if (::rename(artifact.place.c_str(), to.c_str()) != 0) return fail_errno(to.string(), errno);
  return {};
}

}  // namespace corral::spool
