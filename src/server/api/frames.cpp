// Ingest: splits a body into frames, checks each and hands them to the store; what a session has.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "codec/frame.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "server/core/profile_requests.h"
#include "server/core/unseen.h"

namespace corral::server::api {

SplitFrames split_frames(codec::ByteView body) {
  SplitFrames split;
  while (split.position < body.size()) {
    const codec::ByteView rest = body.subspan(split.position);
    const Result<std::size_t> length = codec::frame_length(rest);
    if (!length) {
      split.error = length.error().with_context(fmt::format("frame {}", split.frames.size()));
      return split;
    }
    if (*length == 0) {
      split.error = Error{Code::kInvalidArgument,
                          fmt::format("frame {}: the body ends inside it", split.frames.size())};
      return split;
    }
    split.frames.push_back(rest.first(*length));
    split.position += *length;
  }
  return split;
}

namespace {

// Offsets of the sender in a header (docs/format-frame.md): readable though its checksum is
// wrong.
constexpr std::size_t kSessionAt = 16;
constexpr std::size_t kFirstAt = 32;
constexpr std::size_t kLastAt = 40;

store::Refusal refusal_from_header(std::size_t index, codec::ByteView bytes, const Error& error) {
  store::Refusal refusal{.index = index, .session = {}, .first = 0, .last = 0, .error = error};
  std::memcpy(refusal.session.bytes.data(), bytes.data() + kSessionAt,
              refusal.session.bytes.size());
  std::memcpy(&refusal.first, bytes.data() + kFirstAt, sizeof refusal.first);
  std::memcpy(&refusal.last, bytes.data() + kLastAt, sizeof refusal.last);
  return refusal;
}

struct Decoded {
  std::vector<codec::Frame> frames;
  std::vector<std::size_t> indices;  // position of each frame in the body
  std::vector<store::Refusal> refusals;
};

Decoded decode_all(const std::vector<codec::ByteView>& parts) {
  Decoded decoded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Result<codec::Frame> frame = codec::decode_frame(parts[i]);
    if (frame) {
      decoded.frames.push_back(*std::move(frame));
      decoded.indices.push_back(i);
    } else {
      decoded.refusals.push_back(refusal_from_header(i, parts[i], frame.error()));
    }
  }
  return decoded;
}

// Frames that can never be accepted decide first: the sender rejects them, and the next are no
// longer out of order then.
int status_for(const std::vector<store::Refusal>& refusals) {
  if (refusals.empty()) return 200;
  const auto has = [&](Code code) {
    return std::ranges::any_of(refusals, [code](const auto& r) { return r.error.code == code; });
  };
  const bool only_retryable = std::ranges::all_of(refusals, [](const auto& r) {
    return r.error.code == Code::kConflict || r.error.code == Code::kUnsupported;
  });
  if (!only_retryable) return 422;
  return has(Code::kConflict) ? 409 : 501;
}

// Adds the requested profiles that the supervisors of these runs do not know of yet.
void write_profiles(JsonWriter& json, const store::AppendResult& stored, Context& context) {
  if (context.profiles == nullptr) return;
  std::vector<RunId> runs = stored.data_runs;
  runs.insert(runs.end(), stored.changed_runs.begin(), stored.changed_runs.end());
  // Points of a host are data of all runs there.
  std::erase_if(
      runs, [&](const RunId& run) { return !check_ids(context.reader, {run.hex()}).has_value(); });
  const std::vector<ProfileRequest> profiles = context.profiles->undelivered(runs);
  if (!profiles.empty()) write_array(json, "profiles", profiles, write_profile);
}

// kPermission: a frame belongs to a run or experiment that its sender does not see. The sender
// keeps it.
Result<> check_seen(const store::Reader& reader, const std::vector<codec::Frame>& frames) {
  if (reader.access().sees_all()) return {};
  std::vector<std::string> ids;
  for (const codec::Frame& frame : frames) {
    ids.push_back(frame.header.session.hex());
    if (frame.header.kind != codec::FrameKind::kSession) continue;
    const auto session = codec::decode_session(frame);
    if (!session) continue;
    TRY(check_name(reader.access(), session->experiment));
    ids.push_back(session->run.hex());
  }
  if (check_ids(reader, ids)) return {};
  return fail(Code::kPermission,
              "these frames belong to a run in a space that you are no member of");
}

void write_ack(JsonWriter& json, const store::Ack& ack) {
  json.begin_object().member("session", ack.session.hex());
  json.member("durable_seq", std::to_string(ack.durable_seq)).end_object();
}

void write_refusal(JsonWriter& json, const store::Refusal& refusal) {
  json.begin_object().member("index", static_cast<std::int64_t>(refusal.index));
  json.member("session", refusal.session.hex()).member("first", std::to_string(refusal.first));
  json.member("last", std::to_string(refusal.last));
  json.member("code", code_name(refusal.error.code));
  json.member("message", refusal.error.message).end_object();
}

}  // namespace

Answer post_frames(const Request& request, Context& context) {
  const codec::ByteView body(reinterpret_cast<const std::uint8_t*>(request.body.data()),
                             request.body.size());
  const SplitFrames split = split_frames(body);
  if (split.error) return tl::unexpected(RequestError(*split.error, "", split.position));
  Decoded decoded = decode_all(split.frames);
  TRY(check_seen(context.reader, decoded.frames));
  store::AppendResult stored;
  if (!decoded.frames.empty())
    stored = TRY(context.store.append(
        decoded.frames, {}, {.user = context.who.user, .access = context.reader.access()}));
  context.events.note(stored.changed_runs, stored.data_runs);
  for (store::Refusal& refusal : stored.refusals) {
    refusal.index = decoded.indices[refusal.index];
    decoded.refusals.push_back(std::move(refusal));
  }
  std::ranges::sort(decoded.refusals, {}, &store::Refusal::index);
  Response response = object_response([&](JsonWriter& json) {
    write_array(json, "acks", stored.acks, write_ack);
    write_array(json, "refused", decoded.refusals, write_refusal);
    write_profiles(json, stored, context);
  });
  response.status = status_for(decoded.refusals);
  return response;
}

Answer session(const Request& request, Context& context) {
  const SessionId id = TRY_PARSED(about("session", SessionId::parse(request.param("session"))));
  std::optional<store::Ack> ack;
  if (check_ids(context.reader, {id.hex()})) ack = TRY(context.store.session(id));
  return object_response([&](JsonWriter& json) {
    json.member("session", id.hex()).member("known", ack.has_value());
    json.member("durable_seq", std::to_string(ack ? ack->durable_seq : 0));
  });
}

}  // namespace corral::server::api
