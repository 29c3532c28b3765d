// For tests: a server in memory that takes frames as a store does (in order, without gaps, series
// declared first), and fails on request.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "upload/transport.h"

namespace corral::upload {

enum class Fault {
  kNone,
  kLostRequest,  // nothing arrives
  kLostAnswer,   // all is stored, the answer is lost
  kHalfStored,   // the first half is stored, then the connection breaks
};

class FakeServer final : public Transport {
 public:
  struct Session {
    std::uint64_t durable = 0;
    std::set<std::uint32_t> series;
  };
  std::map<SessionId, Session> sessions;
  std::vector<codec::Fact> facts;
  std::vector<std::string> events;
  std::vector<codec::GapBody> gaps;
  std::vector<codec::RunEndBody> ends;
  std::string output;
  std::set<double> refused_values;
  // Taken one by one by requests; none left: nothing fails.
  std::deque<Fault> faults;
  // Names of a frame's events -> why it is refused.
  std::function<std::optional<Code>(const std::vector<std::string>&)> refuse;
  bool refuse_sessions = false;

  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  [[nodiscard]] std::size_t refused_frames() const { return refused_.size(); }

  Result<Posted> post(const std::vector<codec::Bytes>& frames) override {
    const Fault fault = next_fault();
    if (fault == Fault::kLostRequest) return fail(Code::kUnavailable, "nobody there");
    const std::size_t n = fault == Fault::kHalfStored ? frames.size() / 2 : frames.size();
    Posted posted;
    std::set<SessionId> touched;
    std::set<SessionId> blocked;
    for (std::size_t i = 0; i < n; ++i)
      take(codec::decode_frame(frames[i]).value(), posted, touched, blocked);
    for (const SessionId id : touched)
      posted.acks.push_back({.session = id, .durable_seq = durable(id)});
    if (fault != Fault::kNone) return fail(Code::kUnavailable, "the connection broke");
    return posted;
  }

  Result<std::uint64_t> durable_seq(SessionId session) override {
    if (next_fault() != Fault::kNone) return fail(Code::kUnavailable, "nobody there");
    return durable(session);
  }

 private:
  struct Content {
    std::vector<double> values;
    std::vector<codec::Fact> facts;
    std::vector<std::string> events;
    std::set<std::uint32_t> declared;
    std::set<std::uint32_t> used;
  };

  Fault next_fault() {
    if (faults.empty()) return Fault::kNone;
    const Fault fault = faults.front();
    faults.pop_front();
    return fault;
  }
  [[nodiscard]] std::uint64_t durable(SessionId id) const {
    const auto found = sessions.find(id);
    return found == sessions.end() ? 0 : found->second.durable;
  }

  static Content content_of(const codec::Frame& frame) {
    Content content;
    const std::vector<codec::Frame> parts = codec::sections(frame).value();
    for (const codec::Frame& part : parts) add(content, part);
    return content;
  }
  static void add(Content& content, const codec::Frame& part) {
    if (part.header.kind == codec::FrameKind::kSchema) {
      const auto body = codec::decode_schema(part).value();
      for (const auto& def : body.series) content.declared.insert(def.id);
    } else if (part.header.kind == codec::FrameKind::kSamples) {
      const auto body = codec::decode_samples(part).value();
      for (const auto& group : body.groups) {
        for (const auto& column : group.columns) {
          content.used.insert(column.series);
          content.values.insert(content.values.end(), column.values.begin(), column.values.end());
        }
      }
    } else if (part.header.kind == codec::FrameKind::kFacts) {
      content.facts = codec::decode_facts(part).value().facts;
    } else if (part.header.kind == codec::FrameKind::kEvents) {
      const auto body = codec::decode_events(part).value();
      for (const auto& event : body.events) content.events.push_back(event.name);
    }
  }

  std::optional<PostedRefusal> refusal_of(const codec::Frame& frame, const Content& content) const {
    PostedRefusal refusal{.session = frame.header.session,
                          .first = frame.header.first,
                          .last = frame.header.last,
                          .code = Code::kUnprocessable,
                          .message = "refused by the test"};
    const bool is_session = frame.header.kind == codec::FrameKind::kSession;
    const auto known = sessions.find(frame.header.session);
    if (known == sessions.end()) {
      if (is_session && !refuse_sessions) return std::nullopt;
      return refusal;
    }
    for (const std::uint32_t id : content.used) {
      if (!known->second.series.contains(id) && !content.declared.contains(id)) {
        refusal.message = "a series was never declared";
        return refusal;
      }
    }
    if (!refuse) return std::nullopt;
    const auto code = refuse(content.events);
    if (!code) return std::nullopt;
    refusal.code = *code;
    return refusal;
  }

  void take(const codec::Frame& frame, Posted& posted, std::set<SessionId>& touched,
            std::set<SessionId>& blocked) {
    const codec::FrameHeader& header = frame.header;
    touched.insert(header.session);
    const std::uint64_t done = durable(header.session);
    if (header.last <= done) return;
    if (header.first != done + 1 || blocked.contains(header.session)) {
      posted.refusals.push_back({.session = header.session,
                                 .first = header.first,
                                 .last = header.last,
                                 .code = Code::kConflict,
                                 .message = "out of order"});
      blocked.insert(header.session);
      return;
    }
    Content content = content_of(frame);
    if (auto refusal = refusal_of(frame, content)) {
      blocked.insert(header.session);
      posted.refusals.push_back(*std::move(refusal));
      pending_[{header.session, header.first}] = std::move(content.values);
      return;
    }
    Session& session = sessions[header.session];
    session.durable = header.last;
    session.series.insert(content.declared.begin(), content.declared.end());
    std::ranges::copy(content.values, std::back_inserter(values_));
    std::ranges::copy(content.facts, std::back_inserter(facts));
    std::ranges::copy(content.events, std::back_inserter(events));
    if (header.kind == codec::FrameKind::kLog) output += codec::decode_log(frame).value().bytes;
    if (header.kind == codec::FrameKind::kRunEnd)
      ends.push_back(codec::decode_run_end(frame).value());
    if (header.kind == codec::FrameKind::kGap) take_gap(frame);
  }

  // A gap that covers a rejected frame makes the rejection final.
  void take_gap(const codec::Frame& frame) {
    gaps.push_back(codec::decode_gap(frame).value());
    if (gaps.back().reason != codec::GapReason::kRefused) return;
    const std::pair key(frame.header.session, frame.header.first);
    refused_.insert(key);
    refused_values.insert(pending_[key].begin(), pending_[key].end());
  }

  std::vector<double> values_;
  std::set<std::pair<SessionId, std::uint64_t>> refused_;
  std::map<std::pair<SessionId, std::uint64_t>, std::vector<double>> pending_;
};

}  // namespace corral::upload
