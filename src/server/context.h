// Context: what handlers may use. One per server; everything in it is safe from any thread.
#pragma once

#include <functional>
#include <string>

#include "core/time.h"
#include "server/events.h"
#include "store/store.h"

namespace corral::server {

struct ServerFacts {
  std::string version;
  UtcTime started;
};

struct Context {
  store::Store& store;
  EventHub& events;
  ServerFacts facts;
  // Asks the server to leave after this answer (`corral serve --stop`). Never blocks.
  std::function<void()> request_stop;
};

}  // namespace corral::server
