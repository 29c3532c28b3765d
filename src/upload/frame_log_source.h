// The supervisor's session as a source of frames.
#pragma once

#include <functional>

#include "spool/frame_log.h"
#include "upload/source.h"

namespace corral::upload {

class FrameLogSource final : public Source {
 public:
  // `open`: whether the log may still grow.
  FrameLogSource(const spool::fs::path& directory, SessionId session, std::function<bool()> open)
      : reader_(directory), session_(session), open_(std::move(open)) {}

  [[nodiscard]] SessionId session() const override { return session_; }
  Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) override {
    return reader_.read(after, max_bytes);
  }
  void acknowledge(std::uint64_t durable) override { reader_.acknowledge(durable); }
  bool finished(std::uint64_t durable) override {
    // Asked in this order: what is appended before the log closes is then seen by last().
    return !open_() && reader_.last().value_or(durable + 1) <= durable;
  }

  bool discard() override { return false; }

 private:
  spool::FrameLogReader reader_;
  SessionId session_;
  std::function<bool()> open_;
};

}  // namespace corral::upload
