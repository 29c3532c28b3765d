// The supervisor's session as a source of frames.
//
// Files whose frames were acknowledged are gone. When the server then knows less than that (its
// store was lost), the session is described anew and what is missing is covered by a gap.
#pragma once

#include <functional>

#include "spool/frame_log.h"
#include "spool/run_directory.h"
#include "upload/source.h"

namespace corral::upload {

class FrameLogSource final : public Source {
 public:
  // `open`: whether the log may still grow.
  FrameLogSource(const spool::RunDirectory& directory, std::function<bool()> open)
      : directory_(directory), reader_(directory.path()), open_(std::move(open)) {}

  [[nodiscard]] SessionId session() const override { return directory_.manifest().session; }
  Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) override;
  void acknowledge(std::uint64_t durable) override { reader_.acknowledge(durable); }
  bool finished(std::uint64_t durable) override {
    // Asked in this order: what is appended before the log closes is then seen by last().
    return !open_() && reader_.last().value_or(durable + 1) <= durable;
  }

  bool discard() override { return false; }

 private:
  const spool::RunDirectory& directory_;
  spool::FrameLogReader reader_;
  std::function<bool()> open_;
};

}  // namespace corral::upload
