// SegmentReader: reads the log of a training process, while it lives or after it was killed
// (docs/format-segment.md).
//
//   training process -> segment file -> SegmentReader -> supervisor: frames -> spool of frames,
//   upload
//
// Reads by pread, never through a mapping: a file that shrinks under the reader is an error here,
// not a signal. One reader serves one thread. Do not open a segment in the process that writes it
// unless losing its lock is fine (closing any descriptor of a file drops the process's POSIX locks
// on it).
#pragma once

#include <cstdint>

#include "spool/segment_parse.h"
#include "sys/private_directory.h"

namespace corral::spool {

class SegmentReader {
 public:
  // kNotFound, kUnsupported (newer version), kCorruption (not a segment, bad checksum), kIo,
  // kPermission (not a file of this user's alone).
  static Result<SegmentReader> open(const sys::PrivateDirectory& segments, std::string name);

  [[nodiscard]] const SegmentHeader& header() const { return header_; }
  // In its directory.
  [[nodiscard]] const std::string& name() const { return name_; }
  // First sequence number after this segment once the writer went on to the next or ended its
  // session; nothing before.
  [[nodiscard]] Result<std::optional<std::uint64_t>> closed_at() const;

  // Locked by its writer, or a process with its pid and start time is there (a writer that closed
  // all its descriptors). A zombie does not count, nor a process that ended its session here. Once
  // false for a file, always false.
  [[nodiscard]] bool writer_alive() const;

  // Records from sequence number `from` on, about `max_records` at most. `alive` is writer_alive()
  // as asked *before* this call: with true, reading stops at the first slot not committed; with
  // false, such slots are skipped. kIo when the file cannot be read; damage inside it is in
  // Batch::corrupt.
  [[nodiscard]] Result<Batch> read(std::uint64_t from, std::size_t max_records, bool alive) const;

 private:
  SegmentReader(sys::Fd fd, std::string name, SegmentHeader header)
      : fd_(std::move(fd)), name_(std::move(name)), header_(std::move(header)) {}
  // As written; 0 while the writer fills this segment.
  [[nodiscard]] Result<std::uint64_t> used() const;
  [[nodiscard]] Result<codec::Bytes> read_slots(std::uint64_t slot, std::uint64_t count) const;

  sys::Fd fd_;
  std::string name_;
  SegmentHeader header_;
};

// Sum of the shared counter of refused calls beside the segments; 0 when there is no such file.
Result<std::uint64_t> read_drops(const sys::PrivateDirectory& segments);
// Makes that file, reserved whole; the supervisor does it before it starts the run.
Result<> make_drops(const sys::PrivateDirectory& segments);

}  // namespace corral::spool
