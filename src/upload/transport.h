// Transport: how frames reach a server. HTTP in earnest, a fake in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/result.h"
#include "sys/http_client.h"

namespace corral::upload {

// RequestedProfile: a profile of a run's next steps, as somebody asked the server for it. Pure.
struct RequestedProfile {
  RunId run;
  std::string id;  // is_profile_id()
  std::string tool;
  std::int64_t steps = 0;  // 1 to kMostProfileSteps
};

// Parses an answer of the server ({"run", "id", "tool", "steps"}); nothing if it is not one.
std::optional<RequestedProfile> parse_requested_profile(const Json& json);

struct PostedAck {
  SessionId session;
  std::uint64_t durable_seq = 0;
};
struct PostedRefusal {
  SessionId session;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Code code = Code::kInternal;
  std::string message;
};
struct Posted {
  std::vector<PostedAck> acks;
  std::vector<PostedRefusal> refusals;
  std::vector<RequestedProfile> profiles{};  // requests for any run whose frames were posted
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Everything acknowledged is durable. An Error concerns the whole request; its code says whether
  // retrying the same can help (retryable()).
  virtual Result<Posted> post(const std::vector<codec::Bytes>& frames) = 0;
  // Returns the durable sequence number of the session; 0 if the server does not know it.
  virtual Result<std::uint64_t> durable_seq(SessionId session) = 0;
  // For requests of other kinds; nullptr when there is no HTTP behind this.
  virtual sys::HttpClient* http() { return nullptr; }
};

// Returns false for requests that the server rejects however often they are sent (HTTP 400, 413,
// 422); everything else is worth a retry.
bool retryable(Code code);

std::unique_ptr<Transport> http_transport(sys::HttpTarget target);

}  // namespace corral::upload
