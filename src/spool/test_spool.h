// For tests: a spool directory, what is in it as plain lists, and the manifest of a run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "spool/run_directory.h"
#include "spool/segment_reader.h"
#include "spool/segment_writer.h"

namespace corral::spool {

inline TextView view(std::string_view text) { return {text.data(), text.size()}; }

// Removed with all that is in it. On /dev/shm, where a run's own disk is not what is tested.
class TestDirectory {
 public:
  TestDirectory();
  ~TestDirectory();
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] sys::PrivateDirectory files() const {
    return sys::PrivateDirectory::open(path_).value();
  }
  // Writes here; the options point into this object.
  [[nodiscard]] WriterOptions options() const;
  // By session and index.
  [[nodiscard]] std::vector<std::filesystem::path> segments() const;

 private:
  std::filesystem::path path_;
};

// The reader of a segment by its path.
Result<SegmentReader> open_segment(const std::filesystem::path& path);

// Everything of all segments, read as of dead writers.
struct Stream {
  std::map<std::uint32_t, std::string> names;
  std::vector<Point> points;
  std::vector<codec::Fact> facts;
  std::vector<codec::Event> events;
  std::vector<codec::PhaseRecord> phases;
  std::vector<CorruptSlot> corrupt;
};
// Fails the test when a segment cannot be read, or when a point comes before its series in its
// segment.
Stream read_all(const std::filesystem::path& directory);
Stream read_file(const std::filesystem::path& segment);

codec::Bytes slots_of(const std::filesystem::path& segment);
void patch(const std::filesystem::path& file, std::size_t offset, std::string_view bytes);

// One line per record, as tests/golden/segment-v1.txt lists them.
std::string describe(const Batch& batch);
std::string golden_records();

inline Manifest test_manifest() {
  Manifest m;
  m.run = RunId::random();
  m.session = SessionId::random();
  m.workload = own_workload_of(m.run);
  m.experiment = "digits";
  m.workload_name = "";
  m.run_name = "calm-otter-07";
  m.host = "node7";
  m.destination = {.store = "/data/store", .server = {}};
  m.anchor = {.utc_minus_boot = Nanos(1'763'710'530'123'456'789), .error = Nanos(321)};
  m.started = boot_time(9'007'199'254'740'993);  // no double holds it
  m.supervisor = {.pid = 17, .start_ticks = 99, .boot_id = "b"};
  return m;
}

inline std::string text_of(const codec::Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

// A frame that says `text`, for the log's next number.
inline codec::Bytes test_frame(const codec::FrameHeader& header, std::string text) {
  return codec::encode(header, codec::LogBody{.time = boot_time(1),
                                              .stream = codec::LogStream::kStdout,
                                              .offset = 0,
                                              .bytes = std::move(text)});
}

}  // namespace corral::spool
