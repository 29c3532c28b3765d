// A run's directory in the spool: everything that is known of a run before a server has it.
//
//   <root>/<run id>/manifest.json   who, where to, since when; rewritten when the child has started
//                   lock            flock: held by the one process that reads, uploads and deletes
//                                   here
//                   NNNNNNNNNNNN.frames   the supervisor's session (frame_log.h)
//                   out.log, err.log      the command's output, which the command itself appends;
//                                         tty.log in place of both if it has a terminal, whose
//                                         holder appends it
//                   seg/            segments of the training processes, and `drops`
//                   refused/        frames that the server rejected for good, kept for inspection
//
// If several supervisors record one run, each has a directory of its own (directory_name).
//
// The supervisor makes it; when that is gone, the next server or supervisor with the same
// destination locks and finishes it. It is deleted when everything in it is acknowledged.
//
// Its content is trusted as far as sys::PrivateDirectory goes: every file is opened below the
// descriptor files(), so that nothing that another user put there is read or written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "sys/private_directory.h"
#include "sys/process.h"

namespace corral::spool {

namespace fs = std::filesystem;

// The destination of a run's data: a store directory on this host, or a server's URL. Exactly one
// is set. For a store in a database the directory is where its server is found
// (sys::database_directory) and `database` its URL, which is not written down: it may hold a
// password.
struct Destination {
  fs::path store;
  std::string server;
  std::string database{};
  // Why nothing may be sent there, although it is where the data belongs; empty: it may.
  std::string withheld{};
  // The authorities of the server's certificate (sys::HttpTarget); not written down.
  std::string ca_file{};
  bool operator==(const Destination& other) const {
    return store == other.store && server == other.server;
  }
};

// The tracking address that the run's command was given (run/mlflow/): the process that takes over
// the run answers there, as its supervisor did.
struct TrackingAddress {
  std::uint16_t port = 0;
  std::string secret;
  std::int64_t room = 0;           // bytes for what programs log there
  bool experiment_chosen = false;  // --experiment, --name: no program changes them
  bool name_chosen = false;
  bool operator==(const TrackingAddress&) const = default;
};

// The container that the command runs in: the process that takes over the run asks its tool for
// the exit status, and removes it.
struct ContainerAddress {
  std::vector<std::string> program;  // the tool's path, with its global flags
  std::string name;
  std::string group;  // as environment::discard() takes it
  bool operator==(const ContainerAddress&) const = default;
};

// The place of a supervisor among those that record one run together, each a rank or a host of a
// job (run/job.h).
struct Member {
  std::uint32_t attempt = 0;  // starts of the job before this one
  std::optional<std::int64_t> rank;
  // Source of the run's series that it records: "rank3", else the host's name. No other member of
  // the attempt has it; empty: there is no other.
  std::string label;
  bool operator==(const Member&) const = default;
};

struct Manifest {
  RunId run;
  SessionId session;  // session of the supervisor
  WorkloadId workload;
  std::string experiment;
  std::string workload_name;
  std::string run_name;
  std::string host;
  std::string machine{};  // sys/machine_id.h; of earlier versions empty
  Destination destination;
  ClockAnchor anchor;
  BootTime started;               // when the directory was made
  std::optional<BootTime> begun;  // when the command could execute; nothing: not yet
  sys::ProcessIdentity supervisor;
  std::optional<sys::ProcessIdentity> child;  // once it has started
  std::optional<TrackingAddress> tracking;
  std::optional<ContainerAddress> container;  // once it is made
  std::uint32_t adoptions = 0;                // supervisors that have taken it over from others
  std::optional<Member> member;               // nothing: no other supervisor records the run
};
std::string to_json(const Manifest& manifest);
Result<Manifest> parse_manifest(std::string_view json);

// Names of subdirectories and files of a run's directory.
inline constexpr const char* kSegments = "seg";
inline constexpr const char* kRefused = "refused";
// A part of a run's health: whether a supervisor records it.
inline constexpr std::string_view kSupervisorPart = "recording.supervisor";
// "out.log", "err.log" or "tty.log".
std::string output_name(codec::LogStream stream);

// "RUN" or, of a member, "RUN.LABEL.attemptN", where parts that are empty or 0 are left out.
std::string directory_name(RunId run, const std::optional<Member>& member);

class RunDirectory {
 public:
  // Makes <root>/<directory_name>, with `seg` and `drops`, and locks it.
  static Result<RunDirectory> create(const fs::path& root, Manifest manifest);
  // Locks an existing one: kUnavailable while its supervisor (or another finisher) lives;
  // kPermission when it is not this user's alone.
  static Result<RunDirectory> adopt(const fs::path& path);
  // The manifest of a run whose directory another process may hold.
  static Result<Manifest> read_manifest(const fs::path& path);

  // Asks the process that finishes the run's data to give it to this one; withdraw() once that is
  // decided, and wanted() while the asking process lives.
  static Result<> ask_for(const fs::path& path);
  static void withdraw(const fs::path& path);
  static bool wanted(const fs::path& path);

  // Deletes the remains of a supervisor that was killed while it made or removed `path`: a
  // directory without manifest and data, older than a minute.
  static void clear_remains(const fs::path& path);

  // For messages and for other programs; this process opens nothing by it.
  [[nodiscard]] const fs::path& path() const { return files_.path(); }
  [[nodiscard]] const sys::PrivateDirectory& files() const { return files_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  // The path that training processes are given.
  [[nodiscard]] fs::path segments() const { return path() / kSegments; }
  // Log calls that the run's processes had to refuse so far.
  [[nodiscard]] std::uint64_t drops() const;
  Result<> set_child(const sys::ProcessIdentity& child);
  Result<> set_begun(BootTime at);
  Result<> set_container(ContainerAddress container);
  // Another supervisor than the one before.
  Result<> set_supervisor(const sys::ProcessIdentity& supervisor);
  Result<> set_tracking(TrackingAddress address);
  // Frames that will never be taken are kept here; the name says which.
  Result<> refuse_frame(SessionId session, std::uint64_t first,
                        std::span<const std::uint8_t> frame) const;
  // A damaged segment goes there too.
  Result<> refuse_segment(const std::string& name) const;
  // Nothing is left but refused frames.
  [[nodiscard]] bool only_refused() const;
  // Renames it to refused-<run>, where no one looks for runs to finish.
  void rename_refused();
  // Deletes the directory and all in it, but for refused frames.
  void remove();

 private:
  RunDirectory(sys::PrivateDirectory files, Manifest manifest, sys::Fd lock)
      : files_(std::move(files)), manifest_(std::move(manifest)), lock_(std::move(lock)) {}
  [[nodiscard]] Result<> write_manifest() const;
  sys::PrivateDirectory files_;
  Manifest manifest_;
  sys::Fd lock_;
};

// Directories that may hold spools of this user, best first: `chosen` (from --spool) alone when not
// empty, else $XDG_STATE_HOME/corral/spool
// (~/.local/state/...), then /var/tmp/corral-UID/spool, then /tmp/corral-UID/spool.
std::vector<fs::path> spool_roots(const fs::path& chosen);
// The first of them that is this user's alone, can be written and is on a local filesystem; it is
// made when missing. The error names the fault of each; `untrusted`, unless nullptr, gets those
// that were skipped because they are not this user's alone.
Result<fs::path> usable_root(const std::vector<fs::path>& roots,
                             std::vector<std::string>* untrusted = nullptr);
// Run directories under those roots that are this user's alone. Each root that is not is skipped,
// with a line in `problems` unless that is nullptr.
std::vector<fs::path> find_runs(const std::vector<fs::path>& roots,
                                std::vector<std::string>* problems = nullptr);

}  // namespace corral::spool
