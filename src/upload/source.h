// Source: one session's frames, read from the spool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "spool/client_log.h"
#include "spool/frame_log.h"
#include "spool/run_directory.h"
#include "spool/segment_reader.h"

namespace corral::upload {

class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual SessionId session() const = 0;
  // Frames that cover the numbers from `after` + 1 on, without holes, about `max_bytes` of them;
  // empty when there is nothing (yet).
  virtual Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) = 0;
  // Numbers up to `durable` are stored: files that hold nothing else may go.
  virtual void acknowledge(std::uint64_t durable) = 0;
  // Nothing more will ever come after `durable`.
  virtual bool finished(std::uint64_t durable) = 0;
  // After finished(): deletes the rest of the session, if that is worth doing before the whole run
  // is done.
  virtual bool discard() = 0;
};

// Sessions that have segments in the directory.
std::vector<SessionId> segment_sessions(const spool::RunDirectory& directory);

using RecordWatch = std::function<void(const SessionId&, std::span<const spool::Record>)>;

// A training process's session as a source of frames.
//
// Number 1 of the session is its description; slot s of its segments has number s + 1. Every frame
// covers exactly the slots that were read for it, so that a reader that starts again with the
// server's durable_seq cannot store a point twice.
class SegmentSource final : public Source {
 public:
  // `problems` collects what cannot be read; both references outlive this. `watch`, unless empty,
  // is shown the records of each frame that is made.
  SegmentSource(const spool::RunDirectory& directory, SessionId session,
                std::vector<std::string>& problems, RecordWatch watch = {})
      : directory_(directory), session_(session), problems_(problems), watch_(std::move(watch)) {}

  [[nodiscard]] SessionId session() const override { return session_; }
  Result<std::vector<codec::Bytes>> frames(std::uint64_t after, std::size_t max_bytes) override;
  void acknowledge(std::uint64_t durable) override;
  bool finished(std::uint64_t durable) override { return exhausted_at_ == durable; }
  bool discard() override;

 private:
  struct Piece {
    codec::Bytes frame;
    std::uint64_t last = 0;  // number
  };
  void open_new();
  void refuse(const std::string& segment, const Error& error);
  void remove(const spool::SegmentReader& segment) const;
  [[nodiscard]] const spool::SegmentReader* find_segment(std::uint64_t slot) const;
  Result<std::optional<Piece>> piece(std::uint64_t slot, bool alive);
  codec::Bytes describe(const spool::SegmentHeader& header) const;

  const spool::RunDirectory& directory_;
  SessionId session_;
  std::vector<std::string>& problems_;
  RecordWatch watch_;
  std::vector<spool::SegmentReader> segments_;  // by index
  bool unread_ = false;                         // a segment is there that cannot be read (yet)
  std::optional<std::uint64_t> exhausted_at_;   // durable number after which nothing will come
};

// A session that was written as whole frames, as a source of them: the supervisor's, and those of
// the programs that log through its relay.
//
// Files whose frames were acknowledged are gone, but for the series and facts that they declared:
// <log>/declared has those in one frame. When the server then knows less than that (its store was
// lost or went back to an earlier state), the session is described and declared again, so that
// later samples are understood, and a gap covers the missing frames. Many small frames that wait
// travel as one (merge_frames()).
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
  void describe_again(codec::Bytes& frame) const;
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
