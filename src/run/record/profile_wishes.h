// ProfileWishes: profiles that were requested through the server. Each request is passed on to the
// run's Python package, as `corral profile` does, and its progress is reported to the server.
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

class ProfileWishes {
 public:
  // `directory` outlives this.
  explicit ProfileWishes(const spool::RunDirectory& directory) : directory_(directory) {}

  // Call after a successful round. `ended`: the command had ended before the round. `server`: null
  // without HTTP.
  void step(const upload::StepReport& round, sys::HttpClient* server, bool ended);
  // True if no request is pending, or if the round was the last that could have reported it.
  [[nodiscard]] bool all_told(bool ended) const { return ended || !current_; }

 private:
  // A report for the server.
  struct News {
    std::string state;
    std::optional<std::int64_t> first, last;  // steps
    std::string artifact;
    std::string reason;
  };
  struct Current {
    spool::ProfileRequest request;
    News news;
    bool taken = false;  // a process has accepted it
    bool over = false;
    BootTime give_up;    // time to give up: no process took it, or that process is silent
    BootTime next_tell;  // time of the next report; at once if something is new
  };
  void take_up(bool ended);
  void hear(const upload::ProfileWish& wish, bool ended);
  [[nodiscard]] std::optional<std::string> obstacle(const upload::ProfileWish& wish,
                                                    bool ended) const;
  void look(bool ended);
  void read(const Json& line);
  void end_waiting(std::string reason);
  void tell(sys::HttpClient& server);
  void ask(sys::HttpClient& server, bool ended);
  [[nodiscard]] std::string path() const;

  const spool::RunDirectory& directory_;
  std::optional<Current> current_;
  std::string heard_;  // id of the latest request: the server repeats it until its report arrives
  BootTime next_ask_;  // time of the next question, in a run that sends nothing
  bool took_up_ = false;
};

}  // namespace corral::run
