// A spool directory for one test, and what is in it as plain lists.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
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

}  // namespace corral::spool
