#include "spool/run_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/json.h"
#include "core/text.h"
#include "spool/segment_reader.h"
#include "sys/clock.h"
#include "sys/machine_id.h"

namespace corral::spool {
namespace {

constexpr int kManifestVersion = 1;
constexpr const char* kHandover = "handover";
constexpr std::size_t kMostManifest = 1u << 20;
constexpr const char* kLock = "lock";
constexpr const char* kManifest = "manifest.json";

Json to_json(const sys::ProcessIdentity& p) {
  return Json::Object{{"pid", std::int64_t{p.pid}},
                      {"start_ticks", static_cast<std::int64_t>(p.start_ticks)},
                      {"boot_id", p.boot_id}};
}

sys::ProcessIdentity identity_from(const Json& json) {
  return {.pid = static_cast<pid_t>(json.get_int("pid")),
          .start_ticks = static_cast<std::uint64_t>(json.get_int("start_ticks")),
          .boot_id = json.get_string("boot_id")};
}

Json to_json(const TrackingAddress& t) {
  return Json::Object{{"port", std::int64_t{t.port}},
                      {"secret", t.secret},
                      {"room", t.room},
                      {"experiment_chosen", t.experiment_chosen},
                      {"name_chosen", t.name_chosen}};
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

Json to_json(const ContainerAddress& container) {
  return Json::Object{{"program", Json::Array(container.program.begin(), container.program.end())},
                      {"name", container.name},
                      {"group", container.group}};
}
std::optional<ContainerAddress> container_from(const Json& json) {
  ContainerAddress container{
      .program = {}, .name = json.get_string("name"), .group = json.get_string("group")};
  const Json* program = json.find("program");
  if (program != nullptr && program->as_array() != nullptr) {
    for (const Json& word : *program->as_array())
      if (word.as_string() != nullptr) container.program.push_back(*word.as_string());
  }
  return container.program.empty() ? std::nullopt : std::optional(std::move(container));
}

Json to_json(const Member& member) {
  return Json::Object{{"attempt", std::int64_t{member.attempt}},
                      {"rank", member.rank ? Json(*member.rank) : Json()},
                      {"label", member.label}};
}

Member member_from(const Json& json) {
  Member member{.attempt = static_cast<std::uint32_t>(json.get_int("attempt")),
                .rank = {},
                .label = json.get_string("label")};
  const Json* rank = json.find("rank");
  if (rank != nullptr && !rank->is_null()) member.rank = json.get_int("rank");
  return member;
}

// The directory of a run in a root that is this user's alone.
Result<sys::PrivateDirectory> open_run(const fs::path& path) {
  const sys::PrivateDirectory root = TRY(sys::PrivateDirectory::open(path.parent_path()));
  return root.directory(path.filename());
}

Result<Manifest> manifest_in(const sys::PrivateDirectory& files) {
  const std::string text = TRY(files.read_file(kManifest, kMostManifest));
  auto manifest = parse_manifest(text);
  if (!manifest)
    return tl::unexpected(manifest.error().with_context((files.path() / kManifest).string()));
  return manifest;
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
  if (!m.machine.empty()) json.set("machine", m.machine);
  json.set("store", m.destination.store.string());
  json.set("server", m.destination.server);
  if (!m.destination.withheld.empty()) json.set("withheld", m.destination.withheld);
  json.set("utc_minus_boot_ns", std::int64_t{m.anchor.utc_minus_boot.count()});
  json.set("clock_error_ns", std::int64_t{m.anchor.error.count()});
  json.set("started_ns", ns_of(m.started));
  json.set("begun_ns", m.begun ? Json(ns_of(*m.begun)) : Json());
  json.set("supervisor", to_json(m.supervisor));
  if (m.child) json.set("child", to_json(*m.child));
  if (m.tracking) json.set("tracking", to_json(*m.tracking));
  if (m.container) json.set("container", to_json(*m.container));
  if (m.adoptions > 0) json.set("adoptions", std::int64_t{m.adoptions});
  if (m.member) json.set("member", to_json(*m.member));
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
  m.machine = json.get_string("machine");
  m.destination = {.store = json.get_string("store"),
                   .server = json.get_string("server"),
                   .withheld = json.get_string("withheld")};
  m.anchor = {.utc_minus_boot = Nanos(json.get_int("utc_minus_boot_ns")),
              .error = Nanos(json.get_int("clock_error_ns"))};
  m.started = boot_time(json.get_int("started_ns"));
  if (const Json* p = json.find("supervisor")) m.supervisor = identity_from(*p);
  if (const Json* p = json.find("child")) m.child = identity_from(*p);
  if (const Json* t = json.find("tracking")) m.tracking = tracking_from(*t);
  // A manifest without it was written by a Corral that did not tell the two apart.
  const Json* begun = json.find("begun_ns");
  if (begun == nullptr && m.child) m.begun = m.started;
  if (begun != nullptr && !begun->is_null()) m.begun = boot_time(json.get_int("begun_ns"));
  if (const Json* c = json.find("container")) m.container = container_from(*c);
  m.adoptions = static_cast<std::uint32_t>(json.get_int("adoptions"));
  if (const Json* p = json.find("member")) m.member = member_from(*p);
  return m;
}

std::string directory_name(RunId run, const std::optional<Member>& member) {
  std::string name = run.hex();
  if (member && !member->label.empty()) name += "." + member->label;
  if (member && member->attempt > 0) name += fmt::format(".attempt{}", member->attempt);
  return name;
}

std::string output_name(codec::LogStream stream) {
  switch (stream) {
    case codec::LogStream::kStdout:
      return "out.log";
    case codec::LogStream::kStderr:
      return "err.log";
    case codec::LogStream::kTty:
      return "tty.log";
  }
  return {};
}

Result<RunDirectory> RunDirectory::create(const fs::path& root, Manifest manifest) {
  const sys::PrivateDirectory spool = TRY(sys::PrivateDirectory::make(root));
  if (manifest.machine.empty()) manifest.machine = sys::machine_id(spool);
  sys::PrivateDirectory files =
      TRY(spool.make_directory(directory_name(manifest.run, manifest.member)));
  const sys::PrivateDirectory segments = TRY(files.make_directory(kSegments));
  sys::Fd lock = TRY(files.try_lock_file(kLock));
  TRY(make_drops(segments));
  RunDirectory directory(std::move(files), std::move(manifest), std::move(lock));
  TRY(directory.write_manifest());
  return directory;
}

Result<RunDirectory> RunDirectory::adopt(const fs::path& path) {
  sys::PrivateDirectory files = TRY(open_run(path));
  // Looked for before the lock, which would be made in a directory that is just being removed.
  if (!files.exists(kManifest)) return fail(Code::kNotFound, path.string() + ": no manifest.json");
  sys::Fd lock = TRY(files.try_lock_file(kLock));
  Manifest manifest = TRY(manifest_in(files));
  return RunDirectory(std::move(files), std::move(manifest), std::move(lock));
}

Result<Manifest> RunDirectory::read_manifest(const fs::path& path) {
  return manifest_in(TRY(open_run(path)));
}

Result<> RunDirectory::ask_for(const fs::path& path) {
  const sys::ProcessIdentity self = TRY(sys::identity_of(::getpid()));
  const sys::PrivateDirectory files = TRY(open_run(path));
  return files.replace_file(kHandover, to_json(self).dump(), false);
}

void RunDirectory::withdraw(const fs::path& path) {
  if (const auto files = open_run(path)) files->remove(kHandover);
}

bool RunDirectory::wanted(const fs::path& path) {
  const auto files = open_run(path);
  const auto text = files ? files->read_file(kHandover) : tl::unexpected(files.error());
  const auto json = text ? Json::parse(*text) : tl::unexpected(text.error());
  return json && sys::is_alive(identity_from(*json));
}

void RunDirectory::clear_remains(const fs::path& path) {
  constexpr auto kAge = std::chrono::minutes(1);
  const auto root = sys::PrivateDirectory::open(path.parent_path());
  const auto files = root ? root->directory(path.filename()) : root;
  if (!files) return;
  const auto facts = root->facts(path.filename());
  if (!facts || sys::utc_now() - UtcTime(std::chrono::seconds(facts->st_mtim.tv_sec)) < kAge)
    return;
  const auto lock = files->try_lock_file(kLock);
  if (!lock || files->exists(kManifest)) return;
  for (const char* directory : {"", kSegments, kRefused}) {
    const auto holds_data = [](const std::string& name) {
      return name.ends_with(".frames") || name.ends_with(".seg") || name.ends_with(".frame");
    };
    if (std::ranges::any_of(files->list(directory), holds_data)) return;
  }
  root->remove_all(path.filename());
}

std::uint64_t RunDirectory::drops() const {
  const auto segments = files_.directory(kSegments);
  return segments ? read_drops(*segments).value_or(0) : 0;
}

Result<> RunDirectory::write_manifest() const {
  return files_.replace_file(kManifest, to_json(manifest_), false);
}

Result<> RunDirectory::set_child(const sys::ProcessIdentity& child) {
  manifest_.child = child;
  return write_manifest();
}

Result<> RunDirectory::set_begun(BootTime at) {
  manifest_.begun = at;
  return write_manifest();
}

Result<> RunDirectory::set_container(ContainerAddress container) {
  manifest_.container = std::move(container);
  return write_manifest();
}

Result<> RunDirectory::set_supervisor(const sys::ProcessIdentity& supervisor) {
  manifest_.supervisor = supervisor;
  ++manifest_.adoptions;
  return write_manifest();
}

Result<> RunDirectory::set_tracking(TrackingAddress address) {
  manifest_.tracking = std::move(address);
  return write_manifest();
}

Result<> RunDirectory::refuse_segment(const std::string& name) const {
  TRY(files_.make_directory(kRefused));
  return files_.rename(fs::path(kSegments) / name, fs::path(kRefused) / name);
}

Result<> RunDirectory::refuse_frame(SessionId session, std::uint64_t first,
                                    std::span<const std::uint8_t> frame) const {
  const sys::PrivateDirectory refused = TRY(files_.make_directory(kRefused));
  const std::string_view bytes(reinterpret_cast<const char*>(frame.data()), frame.size());
  return refused.replace_file(fmt::format("{}-{}.frame", session.hex(), first), bytes);
}

bool RunDirectory::only_refused() const {
  return files_.exists(kRefused) && !files_.exists(kSegments);
}

void RunDirectory::rename_refused() {
  const auto root = sys::PrivateDirectory::open(path().parent_path());
  const fs::path name = path().filename();
  [[maybe_unused]] const auto done =
      root ? root->rename(name, "refused-" + name.string()) : tl::unexpected(root.error());
}

void RunDirectory::remove() {
  const bool keep = files_.exists(kRefused);
  for (const std::string& name : files_.list()) {
    if (name != kRefused && name != kLock && name != kManifest) files_.remove_all(name);
  }
  if (keep) return;
  // Last of all: until then the next process that adopts the run after a kill can go on.
  files_.remove(kManifest);
  if (const auto root = sys::PrivateDirectory::open(path().parent_path()))
    root->remove_all(path().filename());
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

namespace {

Result<> check_root(const fs::path& root) {
  const auto kind = sys::filesystem_of(root);
  if (kind && kind->network) {
    return fail(Code::kUnsupported,
                fmt::format("{} is on {}, a network filesystem", root.string(), kind->name));
  }
  const sys::PrivateDirectory made = TRY(sys::PrivateDirectory::make(root));
  if (::faccessat(made.descriptor(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return fail(Code::kUnavailable, root.string() + ": not writable");
  return {};
}

}  // namespace

Result<fs::path> usable_root(const std::vector<fs::path>& roots,
                             std::vector<std::string>* untrusted) {
  std::vector<std::string> reasons;
  for (const fs::path& root : roots) {
    const Result<> checked = check_root(root);
    if (checked) return root;
    reasons.push_back(checked.error().message);
    if (checked.error().code == Code::kPermission && untrusted != nullptr)
      untrusted->push_back(checked.error().message);
  }
  return fail(Code::kUnavailable, fmt::format("no local directory for the spool ({}); choose one "
                                              "with --spool DIR",
                                              join(reasons, "; ")));
}

std::vector<fs::path> find_runs(const std::vector<fs::path>& roots,
                                std::vector<std::string>* problems) {
  std::vector<fs::path> found;
  for (const fs::path& root : roots) {
    const auto spool = sys::PrivateDirectory::open(root);
    if (!spool && spool.error().code == Code::kPermission && problems != nullptr)
      problems->push_back(spool.error().message);
    if (!spool) continue;
    for (const std::string& name : spool->list()) {
      if (RunId::parse(std::string_view(name).substr(0, name.find('.'))))
        found.push_back(root / name);
    }
  }
  return found;
}

}  // namespace corral::spool
