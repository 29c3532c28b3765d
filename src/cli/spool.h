// Sending what waits in the spool, by hand or after a job.
#pragma once

#include <cstddef>
#include <string>

#include "cli/destination.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::cli {

struct Sent {
  std::size_t runs = 0;  // waited without a supervisor
  std::size_t left = 0;  // wait still
  std::string to;        // name of the destination
};
// Sends the data of runs that wait for the destination and whose supervisors are gone, until all of
// it is stored or the time is over. A store's server is started when there is none.
Result<Sent> send_waiting(const DestinationFlags& flags, Nanos patience);

}  // namespace corral::cli
