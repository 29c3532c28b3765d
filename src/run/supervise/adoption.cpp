#include "run/supervise/adoption.h"

#include <fmt/core.h>

#include "sys/clock.h"

namespace corral::run {
namespace {

// A finisher makes a round each second; a round that uploads may be long.
constexpr Nanos kPatience{std::chrono::seconds(30)};
constexpr Nanos kPause{std::chrono::milliseconds(20)};

}  // namespace

Result<spool::fs::path> find_spooled(const Options& options) {
  std::vector<spool::fs::path> found;
  for (const auto& path : spool::find_runs(spool::spool_roots(options.spool))) {
    const std::string name = path.filename().string();
    if (name == options.adopt) return path;
    if (name.starts_with(options.adopt)) found.push_back(path);
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    return fail(Code::kNotFound,
                fmt::format("no run {} waits in the spool: it has ended and its data is stored, or "
                            "it never ran on this host",
                            options.adopt));
  return fail(Code::kInvalidArgument,
              fmt::format("{} runs in the spool begin with {}", found.size(), options.adopt));
}

Options adopted_options(const spool::Manifest& manifest, Options options) {
  // A database's URL is not written down: it may hold a password. A token goes only to the server
  // that it was given for.
  if (!(options.destination == manifest.destination)) {
    options.destination = manifest.destination;
    options.token.clear();
  }
  options.experiment = manifest.experiment;
  options.workload = manifest.workload_name;
  options.name = manifest.run_name;
  options.run_id = manifest.run;
  options.mlflow = manifest.tracking ? Mlflow::kCapture : Mlflow::kOff;
  options.sources = {};  // their commands and addresses belonged to the former supervisor
  return options;
}

Result<spool::RunDirectory> take_over(const spool::fs::path& path,
                                      const std::function<bool()>& give_up) {
  const BootTime deadline = sys::boot_now() + kPatience;
  for (bool asked = false;; asked = true) {
    auto directory = spool::RunDirectory::adopt(path);
    if (directory || directory.error().code != Code::kUnavailable) {
      spool::RunDirectory::withdraw(path);
      return directory;
    }
    const auto manifest = spool::RunDirectory::read_manifest(path);
    if (manifest && sys::is_alive(manifest->supervisor)) {
      return fail(Code::kConflict, fmt::format("run {} has a supervisor that lives: process {}",
                                               manifest->run_name, manifest->supervisor.pid));
    }
    if (!asked) TRY(spool::RunDirectory::ask_for(path));
    if (sys::boot_now() > deadline || give_up()) {
      spool::RunDirectory::withdraw(path);
      return fail(Code::kUnavailable,
                  "the server that finishes the run's data does not let go of it; it stores what "
                  "the run still says, and its end");
    }
    sys::system_clock().sleep_until(sys::boot_now() + kPause);
  }
}

}  // namespace corral::run
