// MPS: a daemon of the workload's own for GPUs that runs share. Its pipe and log directories are
// private: other programs do not find them.
//
// A daemon of the machine's operator is left alone and not joined.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "collocate/journal/undo_handler.h"
#include "core/result.h"
#include "core/time.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

// ---- commands of nvidia-cuda-mps-control, found in PATH: one process per command, with a time
// limit

struct MpsCommand {
  std::string program;  // empty: nvidia-cuda-mps-control
  fs::path pipe;        // CUDA_MPS_PIPE_DIRECTORY
  fs::path log;         // CUDA_MPS_LOG_DIRECTORY
  // Further environment of the program, "NAME=value"; it does not see the CUDA_ variables of this
  // process.
  std::vector<std::string> environment{};
  std::vector<std::string> arguments{};
  std::string input{};  // its standard input
  Nanos limit{std::chrono::seconds(10)};
};
// Returns the program's output. kNotFound: there is no such program; kUnavailable: it was killed at
// the time limit; kIo: it failed, with its output.
Result<std::string> run_mps_control(const MpsCommand& command);

// ---- daemons

struct MpsDaemon {
  std::vector<std::string> uuids;  // UUIDs of its GPUs
  fs::path directory;              // private, with pipe/ and log/ in it

  [[nodiscard]] fs::path pipe() const { return directory / "pipe"; }
  [[nodiscard]] fs::path log() const { return directory / "log"; }
};
// Returns a daemon with a directory of its own below `state`, or below /tmp if a socket's name
// would be too long.
MpsDaemon mps_daemon(const fs::path& state, const std::vector<std::string>& uuids);

// Starts the daemon, with one entry in the journal. Returns when it answers; on an error there is
// no daemon. `program` replaces nvidia-cuda-mps-control.
Result<> start_mps(Journal& journal, const MpsDaemon& daemon, const std::string& program);
// Returns the environment of a client besides its CUDA_VISIBLE_DEVICES; `devices` is the number it
// has.
std::vector<std::string> mps_environment(const MpsDaemon& daemon, const plan::Share& share);

// Undoes changes of kind "mps": quits the daemon, at last with signals, and removes its
// directories.
Result<bool> put_back_mps(const Standing& entry, const UndoOptions& options);
// Returns the PIDs of a daemon's clients, "4711, 4712".
std::string mps_clients(const Standing& entry, const UndoOptions& options);

// Returns the daemon, of any owner, that listens in the pipe directory.
std::optional<pid_t> mps_daemon_in(const fs::path& pipe);

}  // namespace corral::collocate::nvidia
