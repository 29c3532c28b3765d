#include "spool/run_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/json.h"
#include "spool/segment_reader.h"

namespace corral::spool {
namespace {

constexpr int kManifestVersion = 1;
constexpr const char* kHandover = "handover";

Json to_json(const sys::ProcessIdentity& p) {
  Json json;
  json.set("pid", std::int64_t{p.pid});
  json.set("start_ticks", static_cast<std::int64_t>(p.start_ticks));
  json.set("boot_id", p.boot_id);
  return json;
}

sys::ProcessIdentity identity_from(const Json& json) {
  return {.pid = static_cast<pid_t>(json.get_int("pid")),
          .start_ticks = static_cast<std::uint64_t>(json.get_int("start_ticks")),
          .boot_id = json.get_string("boot_id")};
}

Json to_json(const TrackingAddress& t) {
  Json json;
  json.set("port", std::int64_t{t.port});
  json.set("secret", t.secret);
  json.set("room", t.room);
  json.set("experiment_chosen", t.experiment_chosen);
  json.set("name_chosen", t.name_chosen);
  return json;
}

TrackingAddress tracking_from(const Json& json) {
  const auto flag = [&](const char* name) {
    const Json* value = json.find(name);
    return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
  };
  return {.port = static_cast<std::uint16_t>(json.get_int("port")),
          .secret = json.get_string("secret"),
          .room = json.get_int("room"),
          .experiment_chosen = flag("experiment_chosen"),
          .name_chosen = flag("name_chosen")};
}

}  // namespace

std::string to_json(const Manifest& m) {
  Json json;
  json.set("version", kManifestVersion);
  json.set("run", m.run.hex());
  json.set("session", m.session.hex());
  json.set("workload", m.workload.hex());
  json.set("experiment", m.experiment);
  json.set("workload_name", m.workload_name);
  json.set("run_name", m.run_name);
  json.set("host", m.host);
  json.set("store", m.destination.store.string());
  json.set("server", m.destination.server);
  json.set("utc_minus_boot_ns", m.anchor.utc_minus_boot.count());
  json.set("clock_error_ns", m.anchor.error.count());
  json.set("started_ns", ns_of(m.started));
  json.set("supervisor", to_json(m.supervisor));
  if (m.child) json.set("child", to_json(*m.child));
  if (m.tracking) json.set("tracking", to_json(*m.tracking));
  if (m.adoptions > 0) json.set("adoptions", std::int64_t{m.adoptions});
  return json.dump() + "\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
  const Json json = TRY(Json::parse(text));
  if (json.get_int("version") > kManifestVersion)
    return fail(Code::kUnsupported, "manifest of a newer Corral");
  Manifest m;
  m.run = TRY(RunId::parse(json.get_string("run")));
  m.session = TRY(SessionId::parse(json.get_string("session")));
  m.workload = TRY(WorkloadId::parse(json.get_string("workload")));
  m.experiment = json.get_string("experiment");
  m.workload_name = json.get_string("workload_name");
  m.run_name = json.get_string("run_name");
  m.host = json.get_string("host");
  m.destination = {.store = json.get_string("store"), .server = json.get_string("server")};
  m.anchor = {.utc_minus_boot = Nanos(json.get_int("utc_minus_boot_ns")),
              .error = Nanos(json.get_int("clock_error_ns"))};
  m.started = boot_time(json.get_int("started_ns"));
  if (const Json* p = json.find("supervisor")) m.supervisor = identity_from(*p);
  if (const Json* p = json.find("child")) m.child = identity_from(*p);
  if (const Json* t = json.find("tracking")) m.tracking = tracking_from(*t);
  m.adoptions = static_cast<std::uint32_t>(json.get_int("adoptions"));
  return m;
}

Result<RunDirectory> RunDirectory::create(const fs::path& root, Manifest manifest) {
  const fs::path path = root / manifest.run.hex();
  TRY(sys::make_directories(root, 0700));
  TRY(sys::make_directories(path / "seg", 0700));
  sys::Fd lock = TRY(sys::try_lock_file(path / "lock"));
  TRY(make_drops(path / "seg"));
  TRY(sys::replace_file(path / "manifest.json", to_json(manifest), 0600, false));
  return RunDirectory(path, std::move(manifest), std::move(lock));
}

Result<RunDirectory> RunDirectory::adopt(const fs::path& path) {
  // Looked for before the lock, which would be made in a directory that is just being removed.
  std::error_code error;
  if (!fs::exists(path / "manifest.json", error))
    return fail(Code::kNotFound, path.string() + ": no manifest.json");
  sys::Fd lock = TRY(sys::try_lock_file(path / "lock"));
  const std::string text = TRY(sys::read_file(path / "manifest.json"));
  auto manifest = parse_manifest(text);
  if (!manifest)
    return tl::unexpected(manifest.error().with_context((path / "manifest.json").string()));
  return RunDirectory(path, std::move(*manifest), std::move(lock));
}

Result<> RunDirectory::ask_for(const fs::path& path) {
  const sys::ProcessIdentity self = TRY(sys::identity_of(::getpid()));
  return sys::replace_file(path / kHandover, to_json(self).dump(), 0600, false);
}

void RunDirectory::withdraw(const fs::path& path) { ::unlink((path / kHandover).c_str()); }

bool RunDirectory::wanted(const fs::path& path) {
  const auto text = sys::read_file(path / kHandover);
  const auto json = text ? Json::parse(*text) : tl::unexpected(text.error());
  return json && sys::is_alive(identity_from(*json));
}

void RunDirectory::clear_remains(const fs::path& path) {
  constexpr auto kAge = std::chrono::minutes(1);
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  if (error || fs::file_time_type::clock::now() - changed < kAge) return;
  const auto lock = sys::try_lock_file(path / "lock");
  if (!lock || fs::exists(path / "manifest.json", error)) return;
  for (const fs::path& directory : {path, path / "seg", path / "refused"}) {
    const auto holds_data = [](const std::string& name) {
      return name.ends_with(".frames") || name.ends_with(".seg") || name.ends_with(".frame");
    };
    if (std::ranges::any_of(sys::list_directory(directory), holds_data)) return;
  }
  fs::remove_all(path, error);
}

fs::path RunDirectory::output(codec::LogStream stream) const {
  switch (stream) {
    case codec::LogStream::kStdout:
      return path_ / "out.log";
    case codec::LogStream::kStderr:
      return path_ / "err.log";
    case codec::LogStream::kTty:
      return path_ / "tty.log";
  }
  return {};
}

std::uint64_t RunDirectory::drops() const { return read_drops(segments()).value_or(0); }

Result<> RunDirectory::set_child(const sys::ProcessIdentity& child) {
  manifest_.child = child;
  return sys::replace_file(path_ / "manifest.json", to_json(manifest_), 0600, false);
}

Result<> RunDirectory::set_supervisor(const sys::ProcessIdentity& supervisor) {
  manifest_.supervisor = supervisor;
  ++manifest_.adoptions;
  return sys::replace_file(path_ / "manifest.json", to_json(manifest_), 0600, false);
}

Result<> RunDirectory::set_tracking(TrackingAddress address) {
  manifest_.tracking = std::move(address);
  return sys::replace_file(path_ / "manifest.json", to_json(manifest_), 0600, false);
}

Result<> RunDirectory::put_aside(const fs::path& file) const {
  TRY(sys::make_directories(path_ / "refused", 0700));
  std::error_code error;
  fs::rename(file, path_ / "refused" / file.filename(), error);
  if (error) return fail_errno(file.string(), error.value());
  return {};
}

Result<> RunDirectory::put_aside(SessionId session, std::uint64_t first,
                                 std::span<const std::uint8_t> frame) const {
  TRY(sys::make_directories(path_ / "refused", 0700));
  const std::string_view bytes(reinterpret_cast<const char*>(frame.data()), frame.size());
  return sys::replace_file(path_ / "refused" / fmt::format("{}-{}.frame", session.hex(), first),
                           bytes, 0600);
}

bool RunDirectory::only_refused() const {
  std::error_code error;
  return fs::exists(path_ / "refused", error) && !fs::exists(path_ / "seg", error);
}

void RunDirectory::set_aside() {
  std::error_code error;
  fs::rename(path_, path_.parent_path() / ("refused-" + path_.filename().string()), error);
}

void RunDirectory::remove() {
  std::error_code error;
  const bool keep = fs::exists(path_ / "refused", error);
  for (const std::string& name : sys::list_directory(path_)) {
    if (name != "refused" && name != "lock" && name != "manifest.json")
      fs::remove_all(path_ / name, error);
  }
  if (keep) return;
  // Last of all: until then whoever comes after a kill can go on.
  fs::remove(path_ / "manifest.json", error);
  fs::remove_all(path_, error);
}

std::vector<fs::path> spool_roots(const fs::path& chosen) {
  if (!chosen.empty()) return {fs::absolute(chosen)};
  std::vector<fs::path> roots;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') {
    roots.push_back(fs::path(state) / "corral" / "spool");
  } else if (home != nullptr && *home == '/') {
    roots.push_back(fs::path(home) / ".local" / "state" / "corral" / "spool");
  }
  const std::string own = "corral-" + std::to_string(::geteuid());
  roots.push_back(fs::path("/var/tmp") / own / "spool");
  roots.push_back(fs::path("/tmp") / own / "spool");
  return roots;
}

Result<fs::path> usable_root(const std::vector<fs::path>& roots) {
  std::vector<std::string> reasons;
  for (const fs::path& root : roots) {
    const auto kind = sys::filesystem_of(root);
    if (kind && kind->network) {
      reasons.push_back(
          fmt::format("{} is on {}, a network filesystem", root.string(), kind->name));
      continue;
    }
    const auto made = sys::make_directories(root, 0700);
    if (made && ::access(root.c_str(), W_OK | X_OK) == 0) return root;
    reasons.push_back(made ? root.string() + ": not writable" : made.error().message);
  }
  std::string all;
  for (const std::string& reason : reasons) all += (all.empty() ? "" : "; ") + reason;
  return fail(Code::kUnavailable,
              "no local directory for the spool (" + all + "); choose one with --spool DIR");
}

std::vector<fs::path> find_runs(const std::vector<fs::path>& roots) {
  std::vector<fs::path> found;
  for (const fs::path& root : roots) {
    for (const std::string& name : sys::list_directory(root)) {
      if (RunId::parse(name)) found.push_back(root / name);
    }
  }
  return found;
}

}  // namespace corral::spool
