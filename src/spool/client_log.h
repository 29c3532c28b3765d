// ClientLog: what programs log through the supervisor's relay (run/mlflow/), as sessions of their
// own beside the supervisor's.
//
//   <run>/mlflow/<session>/session               the session's description: one frame
//                          NNNNNNNNNNNN.frames   its frames (frame_log.h)
//                          closed                nothing more will come
//
// A session belongs to the run of the directory or to one that the program made below it. The
// process that uploads the run's directory uploads these with it and deletes each when all of it is
// stored. Thread-safe as a Journal is.
#pragma once

#include <vector>

#include "spool/journal.h"

namespace corral::spool {

class ClientLog {
 public:
  // Makes <run_directory>/mlflow/<a new session>. `limit`: bytes, as Journal's.
  static Result<ClientLog> create(const sys::PrivateDirectory& run,
                                  const codec::SessionBody& session, std::int64_t limit);

  void bundle(const codec::Bundle& bundle) { journal_.bundle(bundle); }
  void run_end(const codec::RunEndBody& body) { journal_.run_end(body); }
  // The last call.
  void close();

  [[nodiscard]] SessionId session() const { return session_; }
  [[nodiscard]] std::uint64_t dropped() const { return journal_.dropped(); }
  [[nodiscard]] std::string drop_reason() const { return journal_.drop_reason(); }

 private:
  ClientLog(sys::PrivateDirectory files, SessionId session, Journal journal)
      : files_(std::move(files)), session_(session), journal_(std::move(journal)) {}
  sys::PrivateDirectory files_;
  SessionId session_;
  Journal journal_;
};

struct StoredClientLog {
  sys::PrivateDirectory files;  // its directory
  SessionId session;
  codec::SessionBody description;
};
// The sessions of a run's directory.
std::vector<SessionId> client_logs(const sys::PrivateDirectory& run);
// An error: its description is not whole yet, or never came to be because of a kill; then it holds
// nothing.
Result<StoredClientLog> find_client_log(const sys::PrivateDirectory& run, SessionId session);
bool is_closed(const StoredClientLog& log);
// Bytes of all frame files of the run's client logs.
std::int64_t client_log_bytes(const sys::PrivateDirectory& run);
// Cuts off what kills left half written. Only while no process writes.
void repair_client_logs(const sys::PrivateDirectory& run);
// Deletes one whose frames are all stored. True when nothing of it is left.
bool delete_client_log(const sys::PrivateDirectory& run, SessionId session);

}  // namespace corral::spool
