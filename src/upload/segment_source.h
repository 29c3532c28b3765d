// A training process's session as a source of frames.
//
// Number 1 of the session is its description; slot s of its segments has number s + 1. Every frame
// covers exactly the slots that were read for it, so that a reader that starts again with the
// server's durable_seq cannot store a point twice.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spool/run_directory.h"
#include "spool/segment_reader.h"
#include "upload/source.h"

namespace corral::upload {

// Sessions that have segments in the directory.
std::vector<SessionId> segment_sessions(const spool::RunDirectory& directory);

using RecordWatch = std::function<void(const SessionId&, std::span<const spool::Record>)>;

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

}  // namespace corral::upload
