// A session that was written as whole frames, as a source of them: the supervisor's, and those of
// the programs that log through its relay.
//
// Files whose frames were acknowledged are gone, but for the series and facts that they declared:
// <log>/declared has those in one frame. When the server then knows less than that (its store was
// lost or went back to an earlier state), the session is described and declared again, so that
// later samples are understood, and a gap covers the missing frames. Many small frames that wait
// travel as one (merge_frames()).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codec/frame.h"
#include "spool/client_log.h"
#include "spool/frame_log.h"
#include "upload/source.h"

namespace corral::upload {

class FrameLogSource final : public Source {
 public:
  // `open`: whether the log may still grow.
  // `run`: the directory that a client's log stands in; nothing for the supervisor's own.
  FrameLogSource(spool::StoredClientLog log, std::function<bool()> open,
                 std::optional<sys::PrivateDirectory> run = {})
      : log_(std::move(log)), reader_(log_.files), open_(std::move(open)), run_(std::move(run)) {}

  [[nodiscard]] SessionId session() const override { return log_.session; }
  Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) override;
  void acknowledge(std::uint64_t durable) override;
  bool finished(std::uint64_t durable) override {
    // Asked in this order: last() then sees frames appended before the log closes.
    return !open_() && reader_.last().value_or(durable + 1) <= durable;
  }
  // A client's log goes at once; the supervisor's is the run's directory itself.
  bool discard() override;

 private:
  void keep_declared(std::uint64_t durable) const;
  [[nodiscard]] std::vector<codec::Bytes> bridge(std::uint64_t from, std::uint64_t to,
                                                 const std::vector<codec::Bytes>& frames) const;

  spool::StoredClientLog log_;
  spool::FrameLogReader reader_;
  std::function<bool()> open_;
  std::optional<sys::PrivateDirectory> run_;
};

// Many small frames of one session -> few large ones that say the same. Pure.
//
// A relay writes a frame for each call, so that each survives any crash; as a batch row of the
// store each would cost fifty times its content. Points of one series become one column, in their
// order. `frames` cover consecutive numbers. Only bundles are merged; any other frame stays as it
// is, in its place.
Result<std::vector<codec::Bytes>> merge_frames(std::vector<codec::Bytes> frames);

}  // namespace corral::upload
