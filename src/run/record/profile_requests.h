// ProfileRequests: profiles that were requested through the server. Each request is passed on to
// the run's Python package, as `corral profile` does, and its progress is reported to the server.
//
// Used by the upload thread, once a round. The server's answers to frames carry the requests; a run
// that has nothing to send asks every two seconds. Nothing here makes a round fail: a report that
// could not be sent is sent in a later round. The supervisor that adopts a run continues the
// requests of the killed one, unless a process has taken them.
#pragma once

#include <optional>

#include "core/time.h"
#include "spool/profile_request.h"
#include "spool/run_directory.h"
#include "upload/transport.h"
#include "upload/uploader.h"

namespace corral::run {

class ProfileRequests {
 public:
  // `directory` outlives this.
  explicit ProfileRequests(const spool::RunDirectory& directory) : directory_(directory) {}

  // Call after a successful round. `ended`: the command had ended before the round. `server`: null
  // without HTTP.
  void step(const upload::StepReport& round, sys::HttpClient* server, bool ended);
  // True if no request is pending, or if the round was the last that could have reported it.
  [[nodiscard]] bool none_pending(bool ended) const { return ended || !current_; }

 private:
  // A report for the server.
  struct Report {
    std::string state;
    std::optional<std::int64_t> first{}, last{};  // steps
    std::string artifact{};
    std::string reason{};
  };
  struct Current {
    spool::ProfileRequest request;
    Report report;
    bool taken = false;  // a process has accepted it
    bool over = false;
    BootTime give_up;      // time to give up: no process took it, or that process is silent
    BootTime next_report;  // time of the next report; at once if something is new
  };
  void adopt_request(bool ended);
  void accept(const upload::RequestedProfile& profile, bool ended);
  [[nodiscard]] std::optional<std::string> reason_to_refuse(const upload::RequestedProfile& profile,
                                                            bool ended) const;
  void read_answer(bool ended);
  void apply(const Json& line);
  void end_waiting(std::string reason);
  void send_report(sys::HttpClient& server);
  void poll_server(sys::HttpClient& server, bool ended);
  [[nodiscard]] std::string path() const;

  const spool::RunDirectory& directory_;
  std::optional<Current> current_;
  std::string latest_;  // id of the latest request: the server repeats it until its report arrives
  BootTime next_ask_;   // time of the next question, in a run that sends nothing
  bool adopted_ = false;
};

}  // namespace corral::run
