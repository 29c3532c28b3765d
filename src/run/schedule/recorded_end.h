// RecordedEnds: what the server knows of the end of a run of which nothing is left on this machine.
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
  // Asks again for a moment while the server says that the run goes on: it takes in what the run
  // has left. Nothing: it cannot be asked, or does not know.
  std::optional<End> of(const std::string& run);

 private:
  upload::ServerLink link_;
  Nanos patience_{std::chrono::seconds(5)};  // for all runs together
};

// Of GET /runs/{id}; nothing: the run goes on, or nobody saw its end.
std::optional<End> end_of_run(const Json& run);

}  // namespace corral::run::schedule
