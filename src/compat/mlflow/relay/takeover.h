// Takeover: the tracking address of a run whose supervisor was killed, answered by who finishes the
// run (upload/finisher.h): same port, same secret, same book.
//
// Clients try a connection again for minutes, and a finisher is there within seconds: the training
// notices nothing. A port that another program has meanwhile is given up after a minute, and the
// run says so in an event.
#pragma once

#include <functional>
#include <string>

#include "run/delivery.h"
#include "sys/http_client.h"
#include "upload/successor.h"

namespace corral::run {

struct TakeoverOptions {
  sys::HttpTarget target;             // where the finisher stores what it finds
  std::function<std::string()> page;  // base URL for people; empty: not known
  Delivery& delivery;                 // its rounds are the finisher's; outlives what is made
};
upload::MakeSuccessor tracking_takeover(TakeoverOptions options);

}  // namespace corral::run
