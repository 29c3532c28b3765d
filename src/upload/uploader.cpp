#include "upload/uploader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "spool/outbox.h"
#include "upload/source.h"

namespace corral::upload {
namespace {

constexpr std::size_t kPostBytes =
    1u << 20;  // limit of one request: enough to fill a group commit, small enough to resend

}  // namespace

Uploader::Uploader(spool::RunDirectory& directory, std::function<bool()> supervisor_open)
    : directory_(directory), supervisor_open_(std::move(supervisor_open)) {
  const spool::Manifest& manifest = directory.manifest();
  streams_[manifest.session].source = std::make_unique<FrameLogSource>(
      spool::StoredClientLog{.files = directory.files(),
                             .session = manifest.session,
                             .description = session_body(manifest)},
      supervisor_open_);
}

// Sessions of processes that ended are dropped one by one: a long run may have thousands.
void Uploader::discard_finished() {
  for (auto at = streams_.begin(); at != streams_.end();) {
    Stream& stream = at->second;
    const bool done = !stream.dead && stream.durable && stream.source->finished(*stream.durable) &&
                      stream.source->discard();
    at = done ? streams_.erase(at) : std::next(at);
  }
}

void Uploader::discover() {
  for (const SessionId session : segment_sessions(directory_)) {
    Stream& stream = streams_[session];
    if (stream.source == nullptr)
      stream.source = std::make_unique<SegmentSource>(directory_, session, problems_, watch_);
  }
  for (const SessionId session : spool::client_logs(directory_.files())) {
    if (streams_.contains(session)) continue;
    auto log = spool::find_client_log(directory_.files(), session);
    if (!log) continue;
    const auto open = [this, place = *log] {
      return supervisor_open_() && !spool::is_closed(place);
    };
    streams_[session].source =
        std::make_unique<FrameLogSource>(*std::move(log), open, directory_.files());
  }
}

Result<StepReport> Uploader::step(Transport& server) {
  discover();
  std::vector<codec::Bytes> frames;
  StepReport report;
  for (auto& [session, stream] : streams_) {
    if (report.bytes_sent >= kPostBytes) break;
    TRY(collect(server, stream, frames, report.bytes_sent));
  }
  report.frames_sent = frames.size();
  // Sessions of the rounds before: a run that always has something to send has sessions that end,
  // too.
  discard_finished();
  if (frames.empty()) return report;
  report.idle = report.bytes_sent < kPostBytes;
  Posted posted = TRY(server.post(frames));
  report.profiles = std::move(posted.profiles);
  for (const PostedAck& ack : posted.acks) apply(ack);
  for (const PostedRefusal& refusal : posted.refusals) TRY(apply(server, refusal, frames));
  if (!posted.refusals.empty()) report.idle = false;
  return report;
}

Result<> Uploader::collect(Transport& server, Stream& stream, std::vector<codec::Bytes>& out,
                           std::size_t& bytes) {
  if (stream.dead) return {};
  if (!stream.durable) {
    stream.durable = TRY(server.durable_seq(stream.source->session()));
    stream.source->acknowledge(*stream.durable);
  }
  auto frames = stream.source->frames(*stream.durable, kPostBytes - bytes);
  if (!frames) {
    problems_.push_back(frames.error().message);
    return {};
  }
  for (codec::Bytes& frame : *frames) {
    bytes += frame.size();
    out.push_back(std::move(frame));
  }
  return {};
}

void Uploader::apply(const PostedAck& ack) {
  const auto found = streams_.find(ack.session);
  if (found == streams_.end()) return;
  found->second.durable = ack.durable_seq;
  found->second.source->acknowledge(ack.durable_seq);
}

Result<> Uploader::apply(Transport& server, const PostedRefusal& refusal,
                         const std::vector<codec::Bytes>& sent) {
  const auto found = streams_.find(refusal.session);
  if (found == streams_.end()) return {};
  Stream& stream = found->second;
  if (refusal.code == Code::kConflict) {
    const auto believed = std::exchange(stream.durable, std::nullopt);  // ask again
    if (!believed) return {};  // a frame after the one that was in question
    if (stream.conflict == believed)
      return fail(Code::kUnavailable,
                  "the server rejects even the frames that it requests: " + refusal.message);
    stream.conflict = believed;
    return {};
  }
  if (retryable(refusal.code)) return fail(Code::kUnavailable, refusal.message);
  ++refused_;
  last_refusal_ = refusal.message;
  for (const codec::Bytes& bytes : sent) {
    const auto frame = codec::decode_frame(bytes);
    if (!frame || frame->header.session != refusal.session || frame->header.first != refusal.first)
      continue;
    TRY(directory_.refuse_frame(refusal.session, refusal.first, bytes));
    // Without its description no later frame of the session can be taken either.
    if (frame->header.kind == codec::FrameKind::kSession) stream.dead = true;
  }
  if (stream.dead) return {};
  const codec::FrameHeader header{.kind = codec::FrameKind::kGap,
                                  .session = refusal.session,
                                  .first = refusal.first,
                                  .last = refusal.last};
  const Posted posted = TRY(server.post({codec::encode(
      header, codec::GapBody{.reason = codec::GapReason::kRefused, .message = refusal.message})}));
  stream.durable.reset();
  for (const PostedAck& ack : posted.acks) apply(ack);
  return {};
}

void Uploader::ask_again() {
  for (auto& [session, stream] : streams_) stream.durable.reset();
}

bool Uploader::finished() {
  discover();
  if (spool::anything_waits(directory_.files())) return false;
  return std::ranges::all_of(streams_, [](auto& entry) {
    Stream& stream = entry.second;
    return stream.dead || (stream.durable && stream.source->finished(*stream.durable));
  });
}

void Uploader::close() {
  const bool dead =
      std::ranges::any_of(streams_, [](const auto& entry) { return entry.second.dead; });
  dead ? directory_.rename_refused() : directory_.remove();
}

std::vector<std::string> Uploader::take_problems() {
  std::vector<std::string> fresh;
  for (std::string& problem : std::exchange(problems_, {})) {
    if (std::ranges::find(reported_, problem) != reported_.end()) continue;
    reported_.push_back(problem);
    fresh.push_back(std::move(problem));
  }
  return fresh;
}

}  // namespace corral::upload
