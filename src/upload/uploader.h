// Uploader: brings everything in one run's spool to the server, in order, each number once.
//
// step() is one round: look for new sessions, send pending frames, take the acknowledgements. The
// server's durable_seq is the only truth about stored frames; it is requested when a session is
// first seen, whenever the server answers "conflict", and after ask_again(). A frame that the
// server rejects for good is kept apart in the spool, its numbers are covered by a gap, and the
// stream goes on. Everything else is kept and tried again; pacing and the choice of server are the
// caller's. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spool/run_directory.h"
#include "upload/source.h"
#include "upload/transport.h"

namespace corral::upload {

struct StepReport {
  std::size_t frames_sent = 0;
  std::size_t bytes_sent = 0;
  bool idle = true;  // nothing was left to send
  std::vector<RequestedProfile> profiles{};
};

class Uploader {
 public:
  // `supervisor_open`: the supervisor's session may still grow (its process, or the caller, writes
  // it).
  Uploader(spool::RunDirectory& directory, std::function<bool()> supervisor_open);

  // Is shown what processes of the run logged as it is read for sending, more than once when it has
  // to be sent again; before the first step().
  void show(RecordWatch watch) { watch_ = std::move(watch); }

  // An Error means that the server could not be asked or did not answer well; nothing is lost, try
  // again later.
  Result<StepReport> step(Transport& server);
  // Another server may have taken the place of the last one: the next step() asks it what it has of
  // each session.
  void ask_again();
  // All writers are gone, and everything that was ever written here is acknowledged, or of a
  // session that the server will never take.
  [[nodiscard]] bool finished();
  // After finished(): removes the directory, or sets it aside for a person when a whole session was
  // refused.
  void close();
  // Number of frames rejected for good so far, and the reason for the latest.
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }
  // Returns unreadable items of the spool: each named once, for the run's log.
  std::vector<std::string> take_problems();

 private:
  struct Stream {
    std::unique_ptr<Source> source;
    std::optional<std::uint64_t> durable;   // unknown until the server is asked
    std::optional<std::uint64_t> conflict;  // durable when the server last said "conflict"
    bool dead = false;                      // the server refused the session itself
  };
  void discover();
  void discard_finished();
  Result<> collect(Transport& server, Stream& stream, std::vector<codec::Bytes>& out,
                   std::size_t& bytes);
  void apply(const PostedAck& ack);
  Result<> apply(Transport& server, const PostedRefusal& refusal,
                 const std::vector<codec::Bytes>& sent);

  spool::RunDirectory& directory_;
  std::function<bool()> supervisor_open_;
  RecordWatch watch_;
  std::map<SessionId, Stream> streams_;
  std::size_t refused_ = 0;
  std::string last_refusal_;
  std::vector<std::string> problems_;  // since the last take_problems()
  std::vector<std::string> reported_;
};

}  // namespace corral::upload
