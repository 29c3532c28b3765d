// Context: the objects that handlers may use. One per server; everything in it is safe from any
// thread.
#pragma once

#include <functional>
#include <string>

#include "core/time.h"
#include "server/core/events.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::server {

class ArtifactRemoval;
class Figures;
class ProfileAsks;

struct ServerFacts {
  std::string version;
  UtcTime started;
};

namespace door {
class State;
}

struct Context {
  store::Store& store;
  store::Reader reader;  // reads `store`
  EventHub& events;
  ServerFacts facts;
  // Asks the server to exit after this answer (`corral serve --stop`). Never blocks.
  std::function<void()> request_stop;
  door::State* door = nullptr;       // null: no other tool's interface is served
  const Figures* figures = nullptr;  // the transport's; null without a transport
  store::artifacts::ArtifactStore* artifacts = nullptr;
  ArtifactRemoval* artifact_removal = nullptr;
  ProfileAsks* profiles = nullptr;  // null: none can be asked for
};

}  // namespace corral::server
