// SegmentWriter: a log call of a training process is one store into a mapped file
// (docs/format-segment.md).
//
//   log call -> SegmentWriter -> <segment directory>/<session>-<index>.seg -> SegmentReader
//   (supervisor)
//
// Any thread may call anything at any time. A forked child finds the state's page wiped and starts
// a session of its own at its next call; it never touches its parent's segment. Nothing throws,
// allocates on the heap or waits for a disk except where a segment is opened (every 8,000 to
// 131,000 points). Data that cannot be kept (spool limit, full disk, too long a text) is counted in
// the shared `drops` file and the call returns false.
//
// Depends on libc, segment_format.h and crc32c.h alone: the Python module compiles
// segment_writer.cpp as its own source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::spool {

struct WriterOptions {
  const char* directory =
      nullptr;  // copied; null or empty: the writer is off and every call returns false
  std::uint8_t run[16] = {};
  std::int64_t rank = -1;
  bool rank_of_environment = false;  // read when a process's session starts, instead of `rank`
  std::uint64_t spool_limit = 2ull << 30;  // bytes of all segments in the directory
  std::uint64_t first_bytes =
      0;  // size of the first segment's file; 0 = 256 KiB; at least 64 slots
  std::uint64_t largest_bytes = 0;  // 0 = 4 MiB
};

// From CORRAL_SEGMENT_DIR, CORRAL_RUN_ID and CORRAL_SPOOL_LIMIT; the rank (rank.h) is read at each
// process's first call, because launchers set its variable after the import or after a fork.
// `directory` points into the environment: use the result before that changes.
WriterOptions options_from_environment();

// A name's number in the current session. Lives until the process ends, but is void once
// session_key() has changed.
struct Series;

struct TextView {
  const char* data = nullptr;
  std::size_t size = 0;
};

struct PhaseBegin {
  std::uint64_t parent = 0;  // 0 = none
  std::uint8_t kind = 0;     // codec::PhaseKind
  std::int64_t time = 0;     // as now(); 0 = now
  TextView name = {};
  TextView type = {};
  TextView lane = {};
  TextView attributes = {};  // JSON object, or empty
  const std::uint64_t* links = nullptr;
  std::size_t link_count = 0;
};

class SegmentWriter {
 public:
  explicit SegmentWriter(const WriterOptions& options);
  // Ends the session: its last segment says that none follows. No other thread may be inside a
  // call. A process that ends needs no destructor.
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  [[nodiscard]] bool enabled() const { return directory_[0] != '\0'; }
  // Names the session; another value in another process; 0 before the first call of this process.
  [[nodiscard]] std::uint64_t session_key() const;

  // Finds or makes the series; starts the session. Null when refused (empty or too long a name, too
  // many series).
  Series* series(TextView name);
  // CLOCK_BOOTTIME in ns, as every record's time.
  static std::int64_t now();
  // True when the point is in the file, where it outlives this process. `step` may be null. NaN
  // keeps its bits.
  bool point(Series* series, std::int64_t time, double value, const std::int64_t* step);

  bool param(TextView key, TextView value);
  bool tag(TextView key, TextView value);
  bool event(TextView name, TextView attributes);
  // The phase's id, unique in the session; 0 when refused.
  std::uint64_t phase_begin(const PhaseBegin& phase);
  bool phase_end(std::uint64_t id, std::int64_t time = 0);  // 0 = now

  // Refused calls of this process alone; the `drops` file has the sum.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Page;     // the wiped page: mutex and pointer to the session
  struct Session;  // everything of one process
  struct Segment;
  struct Pieces;

  bool make_page();
  Session* session();
  Session* start_session();
  bool fill_identity(Session& s) const;
  bool declare(Session& s, Series& series);
  Segment* write_text(Session& s, std::uint8_t type, Pieces& pieces);  // takes the pieces
  bool keyed_text(std::uint8_t type, TextView key, TextView value);
  bool roll(Session& s, const Segment* full);
  Segment* create_segment(Session& s, std::uint32_t index);
  bool publish_segment(Session& s, Segment& fresh);
  std::uint64_t next_size(std::uint32_t index) const;
  bool drop(Session* s);

  Page* page_ = nullptr;
  char directory_[3840] = {};
  std::uint8_t run_[16] = {};
  std::int64_t rank_;
  bool rank_of_environment_;
  std::uint64_t spool_limit_;
  std::uint64_t first_bytes_;
  std::uint64_t largest_bytes_;
};

}  // namespace corral::spool
