// ServerLink: finds the server of a destination, and starts the embedded store's one if none runs.
//
// Never blocks longer than its options allow and never fails for good: the next connect() asks
// again for anything that is missing now. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/time.h"
#include "spool/run_directory.h"
#include "sys/http_client.h"
#include "upload/transport.h"

namespace corral::upload {

struct LinkOptions {
  spool::Destination destination;
  std::string token;
  // Command that serves the destination's store and leaves by itself; empty: never start one.
  std::vector<std::string> serve_command;
  std::vector<std::string> environment;
  spool::fs::path server_log;  // receives the output of a started server
  // A server that is there and says nothing so long is taken for none.
  Nanos answers_in{std::chrono::seconds(2)};
};

// Makes `link` start the server of its destination's store, unless that is a server's URL, with the
// environment of this process. A database's URL travels in the environment: others may read
// arguments.
void start_when_needed(LinkOptions& link, const std::string& program, const std::string& spool);

class ServerLink {
 public:
  explicit ServerLink(LinkOptions options) : options_(std::move(options)) {}

  // The server's transport when it answers now. Else starts the store's server and waits up to
  // `patience` for it; after one that did not come up, not again for ten seconds. The error says
  // why there is none, with the last line that a started server printed. A running server that
  // reports that it cannot work (its database is away), or whose process is suspended, is neither
  // waited for nor started again: the error is the server's own message, or names the process and
  // the way to continue it.
  Result<Transport*> connect(Nanos patience);
  // After a failed request: the next connect() looks again.
  void drop() { transport_.reset(); }
  // Base URL for people, known once connected.
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  Result<> probe();
  Error describe_silence(const Error& error);
  Result<> start();
  Result<> await(Nanos patience);
  [[nodiscard]] std::string last_words() const;
  LinkOptions options_;
  std::unique_ptr<Transport> transport_;
  std::string url_;
  bool cannot_work_ = false;     // the last probe found a server that waiting does not help
  pid_t started_pid_ = 0;        // the server that this object started; 0: none
  BootTime not_before_;          // no other start until then
  sys::Fd log_;                  // output of the started server
  std::int64_t log_offset_ = 0;  // offset at which its output begins
};

// Returns the target of requests to the destination: its Unix socket or its URL.
sys::HttpTarget target_of(const spool::Destination& destination, const std::string& token);

}  // namespace corral::upload
