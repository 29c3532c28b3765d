#include "upload/transport.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "core/ids.h"

namespace corral::upload {
namespace {

Code parse_code(std::string_view name) {
  for (int c = 0; c <= static_cast<int>(Code::kInternal); ++c) {
    if (code_name(static_cast<Code>(c)) == name) return static_cast<Code>(c);
  }
  return Code::kInternal;
}

Code code_from_status(int status) {
  constexpr std::array<std::pair<int, Code>, 9> kCodes = {{{400, Code::kInvalidArgument},
                                                           {401, Code::kUnauthenticated},
                                                           {403, Code::kPermission},
                                                           {404, Code::kNotFound},
                                                           {409, Code::kConflict},
                                                           {413, Code::kTooLarge},
                                                           {422, Code::kUnprocessable},
                                                           {501, Code::kUnsupported},
                                                           {507, Code::kNoSpace}}};
  for (const auto& [known, code] : kCodes) {
    if (known == status) return code;
  }
  return Code::kUnavailable;
}

Error to_error(const sys::HttpReply& reply) {
  Error error{.code = code_from_status(reply.status),
              .message = fmt::format("the server answered {}", reply.status)};
  const auto json = Json::parse(reply.body);
  const Json* detail = json ? json->find("error") : nullptr;
  if (detail != nullptr && !detail->get_string("message").empty())
    error.message = detail->get_string("message");
  return error;
}

Result<Posted> parse_posted(std::string_view body) {
  const Json json = TRY(Json::parse(body));
  Posted posted;
  const Json* acks = json.find("acks");
  const Json* refused = json.find("refused");
  if (acks == nullptr || acks->as_array() == nullptr)
    return fail(Code::kUnavailable, "the answer has no acks: is this a Corral server?");
  for (const Json& ack : *acks->as_array()) {
    posted.acks.push_back({.session = TRY(SessionId::parse(ack.get_string("session"))),
                           .durable_seq = static_cast<std::uint64_t>(ack.get_int("durable_seq"))});
  }
  if (const Json* profiles = json.find("profiles");
      profiles != nullptr && profiles->as_array() != nullptr) {
    for (const Json& profile : *profiles->as_array()) {
      if (auto parsed = parse_requested_profile(profile))
        posted.profiles.push_back(*std::move(parsed));
    }
  }
  if (refused == nullptr || refused->as_array() == nullptr) return posted;
  for (const Json& r : *refused->as_array()) {
    posted.refusals.push_back({.session = TRY(SessionId::parse(r.get_string("session"))),
                               .first = static_cast<std::uint64_t>(r.get_int("first")),
                               .last = static_cast<std::uint64_t>(r.get_int("last")),
                               .code = parse_code(r.get_string("code")),
                               .message = r.get_string("message")});
  }
  return posted;
}

class HttpTransport final : public Transport {
 public:
  explicit HttpTransport(sys::HttpTarget target) : client_(std::move(target)) {}

  Result<Posted> post(const std::vector<codec::Bytes>& frames) override {
    std::string body;
    for (const codec::Bytes& frame : frames)
      body.append(reinterpret_cast<const char*>(frame.data()), frame.size());
    const sys::HttpReply reply = TRY(client_.send({.method = "POST",
                                                   .path = "/api/corral/v1/frames",
                                                   .body = body,
                                                   .content_type = "application/x-corral-frames"}));
    const bool has_details = reply.status == 200 || reply.status == 409 || reply.status == 422;
    if (has_details) {
      auto posted = parse_posted(reply.body);
      if (posted) return posted;
    }
    return tl::unexpected(to_error(reply));
  }

  Result<std::uint64_t> durable_seq(SessionId session) override {
    const sys::HttpReply reply =
        TRY(client_.send({.path = "/api/corral/v1/sessions/" + session.hex(), .body = {}}));
    if (reply.status != 200) return tl::unexpected(to_error(reply));
    const Json json = TRY(Json::parse(reply.body));
    return static_cast<std::uint64_t>(json.get_int("durable_seq"));
  }

  sys::HttpClient* http() override { return &client_; }

 private:
  sys::HttpClient client_;
};

}  // namespace

bool retryable(Code code) {
  return code != Code::kInvalidArgument && code != Code::kTooLarge &&
         code != Code::kUnprocessable && code != Code::kCorruption;
}

std::unique_ptr<Transport> http_transport(sys::HttpTarget target) {
  return std::make_unique<HttpTransport>(std::move(target));
}

std::optional<RequestedProfile> parse_requested_profile(const Json& json) {
  const auto run = RunId::parse(json.get_string("run"));
  RequestedProfile profile{.run = run.value_or(RunId()),
                           .id = json.get_string("id"),
                           .tool = json.get_string("tool"),
                           .steps = json.get_int("steps")};
  const bool good =
      run && is_profile_id(profile.id) && profile.steps >= 1 && profile.steps <= kMostProfileSteps;
  return good ? std::optional(std::move(profile)) : std::nullopt;
}

}  // namespace corral::upload
