// The supervisor's own session on disk: whole frames one after another in NNNNNN.frames files,
// sequence numbers from 1 without holes.
//
// Written by one thread at a time with plain write(2): written frames survive kill -9 of the writer
// (not a power cut). A reader takes frames by number; files whose frames are all acknowledged are
// deleted. A torn last frame, left by a kill in the middle of a write, is cut off when the log is
// opened for writing again; other damage becomes a gap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "sys/private_directory.h"

namespace corral::spool {

// When a file is full: less when the limit is small, so that acknowledged ones can go before it is
// reached.
inline constexpr std::int64_t kFrameFileBytes = 4ll << 20;
inline constexpr std::int64_t kSmallestFrameFileBytes = 64ll << 10;

class FrameLogWriter {
 public:
  // Continues the existing files. `limit`: bytes of all files together (the last frame of each may
  // stand out); an append beyond it is refused with kNoSpace.
  static Result<FrameLogWriter> open(sys::PrivateDirectory directory, SessionId session,
                                     std::int64_t limit);

  // Sequence number that the next append will take.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // A frame encoded with FrameHeader{session, next(), next()}.
  Result<> append(const codec::Bytes& frame);
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  // Header for the next frame.
  [[nodiscard]] codec::FrameHeader header() const {
    return {.kind = {}, .session = session_, .first = next_, .last = next_};
  }

 private:
  FrameLogWriter(sys::PrivateDirectory directory, SessionId session, std::int64_t limit)
      : directory_(std::move(directory)),
        session_(session),
        limit_(limit),
        full_(std::clamp(limit / 4, kSmallestFrameFileBytes, kFrameFileBytes)) {}
  Result<> roll();
  sys::PrivateDirectory directory_;
  SessionId session_;
  std::int64_t limit_;
  std::int64_t full_;
  std::uint64_t next_ = 1;
  std::uint64_t bytes_written_ = 0;
  std::int64_t file_bytes_ = 0;
  sys::Fd file_;
};

class FrameLogReader {
 public:
  explicit FrameLogReader(sys::PrivateDirectory directory) : directory_(std::move(directory)) {}

  // Frames with numbers above `after`, in order, until `max_bytes` (at least one when there is
  // one). A damaged file is an error that names it.
  Result<std::vector<codec::Bytes>> read(std::uint64_t after, std::size_t max_bytes);
  // Number with which the frames of the last read() that gave any begin.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  // Deletes files in which every frame is at or below `durable`, but never the newest.
  void acknowledge(std::uint64_t durable);
  // Number of the last whole frame; 0 when there is none.
  Result<std::uint64_t> last();

 private:
  struct Position {
    std::uint64_t file = 0;      // its first number; 0: none
    std::uint64_t sequence = 0;  // sequence of the frame that starts there
    std::int64_t offset = 0;
    // Returns true if a read after that number may begin here.
    [[nodiscard]] bool serves(std::uint64_t after) const {
      return file != 0 && sequence <= after + 1;
    }
  };
  struct Frames {
    std::vector<codec::Bytes> frames;
    std::size_t bytes = 0;
  };
  bool read_on(std::uint64_t after, std::size_t max_bytes, Frames& out);
  [[nodiscard]] bool is_next_there() const;
  Result<> read_file(Position at, std::uint64_t after, std::size_t max_bytes, Frames& out);

  sys::PrivateDirectory directory_;
  std::vector<std::uint64_t> files_;  // as they were last looked for
  sys::Fd file_;                      // file of read_
  Position passed_;                   // all before it was asked for no more
  Position read_;                     // position at which the last read ended
  std::uint64_t first_ = 0;
};

// The first sequence numbers of the files present, ascending; a file is named by its first number.
std::vector<std::uint64_t> frame_files(const sys::PrivateDirectory& directory);
std::string frame_file(std::uint64_t first);
// Bytes of all of them.
std::int64_t frame_bytes(const sys::PrivateDirectory& directory);

// Turns damage in a file of frames (a flipped bit, a lost page) into a gap on record, so that the
// rest can still be read.
//
// Only for the process that holds the run directory, before the log is written again.

// `first`: number of the file's first frame, which names it. `next_file`: that of the file after
// it; without one, what cannot be read at the end is a write that a kill cut short and is left
// alone. A whole file is left as it is; a damaged one is replaced at once. kUnsupported: a newer
// Corral's.
Result<> repair_frames(const sys::PrivateDirectory& directory, SessionId session,
                       std::uint64_t first, std::optional<std::uint64_t> next_file);

}  // namespace corral::spool
