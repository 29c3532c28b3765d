// Takeover: the process that finishes a run whose supervisor was killed (upload/finisher.h) also
// answers at its tracking address: same port, same secret, same book.
//
// Clients retry a connection for minutes, and a finisher starts within seconds, so the training
// notices nothing. If another program has taken the port meanwhile, the finisher gives up after a
// minute and records an event.
#pragma once

#include "run/tracking.h"

namespace corral::run {

upload::MakeSuccessor tracking_takeover(TakeoverOptions options);

}  // namespace corral::run
