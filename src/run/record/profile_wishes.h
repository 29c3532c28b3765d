// ProfileWishes: profiles that people asked the server for. Each is passed on to the run's Python
// package, as `corral profile` does, and the server is told what becomes of it.
//
// The upload thread's, once a round; the server's answers to frames bring the wishes. Only where
// the run has nothing to send the server is asked, every two seconds. Nothing here makes a round
// fail: what could not be told is told in a later one. What a supervisor that was killed has asked
// for goes on with the one that adopts the run, unless a process has taken it.
#pragma once

#include <optional>

#include "core/time.h"
#include "spool/profile_request.h"
#include "spool/run_directory.h"
#include "upload/profile_wish.h"
#include "upload/uploader.h"

namespace corral::run {

class ProfileWishes {
 public:
  // `directory` outlives this.
  explicit ProfileWishes(const spool::RunDirectory& directory) : directory_(directory) {}

  // After a round that went well. `ended`: the command has, before the round. `server`: null where
  // there is no HTTP.
  void step(const upload::StepReport& round, sys::HttpClient* server, bool ended);
  // No wish is on its way, or the round was the last that could have told of it.
  [[nodiscard]] bool all_told(bool ended) const { return ended || !current_; }

 private:
  // What the server is told.
  struct News {
    std::string state;
    std::optional<std::int64_t> first, last;  // steps
    std::string artifact;
    std::string reason;
  };
  struct Current {
    spool::ProfileRequest request;
    News news;
    bool taken = false;  // by a process
    bool over = false;
    BootTime give_up;    // when no process takes it, or who did says nothing any more
    BootTime next_tell;  // at once when something is new
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
  std::string heard_;  // id of the latest wish: the server says it until it is told
  BootTime next_ask_;  // of a run that sends nothing
  bool took_up_ = false;
};

}  // namespace corral::run
