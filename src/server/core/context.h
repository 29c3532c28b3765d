// Context: the objects that handlers may use, and who asks. One per server, or per request where
// the store has users; everything in it is safe from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>

#include "core/guarded.h"
#include "core/role.h"
#include "core/time.h"
#include "server/core/answer_cache.h"
#include "server/core/events.h"
#include "server/core/rate.h"
#include "server/core/seen_ids.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"
#include "store/store.h"
#include "sys/fd.h"

namespace corral::analyze {
struct TrainingUnits;
}

namespace corral::http {
class Tls;
}

namespace corral::oidc {
class Provider;
}

namespace corral::server {

class Accounts;
class Alerts;
class ArtifactRemoval;
class Figures;
class OnceCodes;
class ProfileRequests;

struct ServerFacts {
  std::string version;
  UtcTime started;
};

namespace door {
class State;
}

// The steps and epochs of a run that /explain counted last, and the state of the run then.
struct CountedUnits {
  std::string state;
  std::shared_ptr<const analyze::TrainingUnits> units;
};

// The provider at which users sign in, and which of those that it lets in become users.
struct SignIns {
  std::unique_ptr<oidc::Provider> provider;
  Role newcomers = Role::kAnyone;      // their role; kAnyone: nobody does
  std::vector<std::string> domains{};  // only with a verified e-mail address of one; empty: of any
};

// The last answers of the store to GET /ready.
struct Readiness {
  std::mutex asking;                      // held while the store is asked
  std::atomic<std::int64_t> ready_ns{0};  // BootTime of its last good answer; 0: none yet
};

// The image of a file at a width in pixels; empty where none is made, or once `left` is true.
// Blocks; any thread.
using MakeThumbnail =
    std::function<std::string(const sys::Fd& image, int width, const std::function<bool()>& left)>;

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
  std::shared_ptr<store::artifacts::ArtifactStore> seen_artifacts{};  // null: all are seen
  MakeThumbnail make_thumbnail{};  // empty: images are served as they are
  ArtifactRemoval* artifact_removal = nullptr;
  ProfileRequests* profiles = nullptr;  // null: none can be asked for
  Accounts* accounts = nullptr;         // there, once requests are answered
  OnceCodes* once = nullptr;            // as accounts
  const SignIns* sign_ins = nullptr;    // null: by a token alone
  const http::Tls* tls = nullptr;       // null: plain HTTP
  const Alerts* alerts = nullptr;       // as accounts
  // Behind the request that is handled. A store without users lets everybody be everybody.
  Principal who{.user = "", .role = Role::kAdmin};
  // Refused sign-ins of all addresses together that the audit lists.
  std::shared_ptr<Rate> listed_refusals = std::make_shared<Rate>(1000, std::chrono::seconds(30));
  // Codes of device_codes.h that a user types, by user: both to look at one and to answer it.
  std::shared_ptr<Rate> typed_codes = std::make_shared<Rate>(20, std::chrono::seconds(30));
  // Entries of the audit that any user can make, by user.
  std::shared_ptr<Rate> reader_entries = std::make_shared<Rate>(200, std::chrono::seconds(10));
  // Tokens that users who are no admins make, by user.
  std::shared_ptr<Rate> made_tokens = std::make_shared<Rate>(20, std::chrono::minutes(10));
  // Messages of alerts that a user sends as a test, by user.
  std::shared_ptr<Rate> test_messages = std::make_shared<Rate>(10, std::chrono::seconds(30));
  std::shared_ptr<Readiness> readiness = std::make_shared<Readiness>();
  std::shared_ptr<AnswerCache> answers = std::make_shared<AnswerCache>(AnswerCache::kLongest);
  std::shared_ptr<AnswerCache> thumbnails = std::make_shared<AnswerCache>(std::chrono::minutes(10));
  std::shared_ptr<SeenIds> seen_ids = std::make_shared<SeenIds>();
  std::shared_ptr<Guarded<CountedUnits>> units = std::make_shared<Guarded<CountedUnits>>();
};

// The user whose own runs alone may go to the trash; nothing: anybody's may.
inline std::optional<std::string> trashes_own_of(const Context& context) {
  if (context.who.role >= Role::kOwner) return std::nullopt;
  return context.who.user;
}

// The value of `read(store::Reading&)`, a Result, in one snapshot.
template <class Read>
auto in_snapshot(const store::Reader& store, Read read)
    -> std::invoke_result_t<Read, store::Reading&> {
  typename std::invoke_result_t<Read, store::Reading&>::value_type value{};
  const auto inspect = [&](store::Reading& reading) -> Result<> {
    value = TRY(read(reading));
    return {};
  };
  TRY(store.inspect(inspect));
  return value;
}

// The value of `change(store::Writing&)`, a Result, once it is committed.
template <class Change>
auto commit(store::Store& store, Change change) -> std::invoke_result_t<Change, store::Writing&> {
  typename std::invoke_result_t<Change, store::Writing&>::value_type value{};
  const auto write = [&](store::Writing& writing) -> Result<> {
    value = TRY(change(writing));
    return {};
  };
  TRY(store.change(write));
  return value;
}

}  // namespace corral::server
