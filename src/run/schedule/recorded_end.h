// RecordedEnds: asks the server for the end of a run of which nothing is left on this machine.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "run/schedule/book.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

class RecordedEnds {
 public:
  explicit RecordedEnds(upload::LinkOptions link) : link_(std::move(link)) {}
  // Returns the end of a run. While the server reports that the run goes on, it may still read the
  // run's spool; the question is repeated for a moment. Nullopt: the server is unreachable, or does
  // not know the end.
  std::optional<End> of(const std::string& run);

 private:
  upload::ServerLink link_;
  Nanos patience_{std::chrono::seconds(5)};  // for all runs together
};

// Returns the end in an answer to GET /runs/{id}; nullopt: the run goes on, or its end is unknown.
std::optional<End> end_of_run(const Json& run);

}  // namespace corral::run::schedule
