// Outbox: artifacts and calls that wait for the server. `directory` is the run's.
//
// Artifacts are files of a run, copied into its directory:
//
//   <run>/artifacts/<32 hex digits>/name   the run's id, a line feed, the artifact's path
//                                   data   the file
//
// A folder gets its name when both are whole (rename); one with any other name is being made, or
// was left by a kill. The Python package writes them (corral.artifact), and the relay when it has
// no server. The uploader deletes each once the server has it.
//
// Calls are requests of programs whose answer says nothing, which is why the relay gives it itself
// when there is no server:
//
//   <run>/calls/<20 digits>-<32 hex digits>   the path, a line feed, the body of a POST
//
// The digits are the time: sent in this order, after the points that were logged before them. The
// uploader deletes each once the server has taken it. Any thread keeps; one sends.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "sys/private_directory.h"

namespace corral::spool {

struct WaitingArtifact {
  std::string id;  // names its folder
  RunId run;
  std::string path;       // "model/weights.bin"
  std::int64_t kept = 0;  // nanoseconds since 1970
};
// The oldest first: of two with one path the newer is to stay. One whose name cannot be read is
// left out.
std::vector<WaitingArtifact> waiting_artifacts(const sys::PrivateDirectory& directory);
bool has_waiting_artifacts(const sys::PrivateDirectory& directory);
// Copies the file's bytes from its start; blocks shared where the filesystem can.
Result<> keep_artifact(const sys::PrivateDirectory& directory, RunId run, std::string_view path,
                       int file);
Result<> keep_artifact(const sys::PrivateDirectory& directory, RunId run, std::string_view path,
                       std::string_view content);
// The file, to be read.
Result<sys::Fd> open_artifact(const sys::PrivateDirectory& directory,
                              const WaitingArtifact& artifact);
void delete_artifact(const sys::PrivateDirectory& directory, const WaitingArtifact& artifact);
// Reports of profilers that ran in front of the command: `profile/report` and one of these endings.
inline constexpr std::array<std::string_view, 3> kReportEndings = {".nsys-rep", ".qdrep",
                                                                   ".ncu-rep"};
// Keeps the reports of a run whose supervisor is gone as artifacts below
// `profile/without-summary/`. The command has ended.
Result<> keep_left_reports(const sys::PrivateDirectory& directory, RunId run);
// The server will never take it: kept in the run's `refused` for a person.
Result<> refuse_artifact(const sys::PrivateDirectory& directory, const WaitingArtifact& artifact);

struct Call {
  std::string path, body;
};
Result<> keep_call(const sys::PrivateDirectory& directory, const Call& call);
// Their names, the oldest first.
std::vector<std::string> waiting_calls(const sys::PrivateDirectory& directory);
Result<Call> read_call(const sys::PrivateDirectory& directory, const std::string& name);
void delete_call(const sys::PrivateDirectory& directory, const std::string& name);
// The server will never take it: kept in the run's `refused` for a person.
Result<> refuse_call(const sys::PrivateDirectory& directory, const std::string& name);

// Calls or artifacts.
bool anything_waits(const sys::PrivateDirectory& directory);

}  // namespace corral::spool
