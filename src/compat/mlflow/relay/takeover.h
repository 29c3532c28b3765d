// Takeover: the tracking address of a run whose supervisor was killed, answered by who finishes the
// run (upload/finisher.h): same port, same secret, same book.
//
// Clients try a connection again for minutes, and a finisher is there within seconds: the training
// notices nothing. A port that another program has meanwhile is given up after a minute, and the
// run says so in an event.
#pragma once

#include "run/tracking.h"

namespace corral::run {

upload::MakeSuccessor tracking_takeover(TakeoverOptions options);

}  // namespace corral::run
