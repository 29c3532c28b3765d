#include "spool/test_spool.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/test_paths.h"
#include "spool/segment_format.h"

namespace corral::spool {

Result<SegmentReader> open_segment(const std::filesystem::path& path) {
  const auto segments = TRY(sys::PrivateDirectory::open(path.parent_path()));
  return SegmentReader::open(segments, path.filename());
}

namespace {

namespace fs = std::filesystem;

void add(Stream& stream, std::set<std::uint32_t>& declared, const RecordBody& body) {
  if (const auto* series = std::get_if<codec::SeriesDef>(&body)) {
    declared.insert(series->id);
    const auto [at, added] = stream.names.emplace(series->id, series->name);
    EXPECT_TRUE(added || at->second == series->name) << "two names for one series";
  } else if (const auto* point = std::get_if<Point>(&body)) {
    EXPECT_TRUE(declared.contains(point->series)) << "a point before its series";
    stream.points.push_back(*point);
  } else if (const auto* fact = std::get_if<codec::Fact>(&body)) {
    stream.facts.push_back(*fact);
  } else if (const auto* event = std::get_if<codec::Event>(&body)) {
    stream.events.push_back(*event);
  } else if (const auto* phase = std::get_if<codec::PhaseRecord>(&body)) {
    stream.phases.push_back(*phase);
  }
}

void add_file(Stream& stream, const fs::path& path) {
  const auto reader = open_segment(path);
  ASSERT_TRUE(reader) << reader.error().message;
  std::set<std::uint32_t> declared;
  bool end = false;
  for (std::uint64_t next = reader->header().base; !end;) {
    const auto batch = reader->read(next, 1'000, false);
    ASSERT_TRUE(batch) << batch.error().message;
    for (const Record& record : batch->records) add(stream, declared, record.body);
    stream.corrupt.insert(stream.corrupt.end(), batch->corrupt.begin(), batch->corrupt.end());
    ASSERT_TRUE(batch->end || batch->next > next) << "the reader does not get on";
    next = batch->next;
    end = batch->end;
  }
}

std::string describe(const RecordBody& body) {
  struct Describe {
    std::string operator()(const Point& p) const {
      return fmt::format("point series={} time={} step={} bits={:016x}", p.series, ns_of(p.time),
                         p.step ? std::to_string(*p.step) : "-",
                         std::bit_cast<std::uint64_t>(p.value));
    }
    std::string operator()(const codec::SeriesDef& s) const {
      return fmt::format("series id={} name={}", s.id, s.name);
    }
    std::string operator()(const codec::Fact& f) const {
      return fmt::format("{} {}={}", f.kind == codec::FactKind::kParam ? "param" : "tag", f.key,
                         f.value);
    }
    std::string operator()(const codec::Event& e) const {
      std::string line = fmt::format("event time={} name={}", ns_of(e.time), e.name);
      for (const auto& [key, value] : e.attributes) line += fmt::format(" {}={}", key, value);
      return line;
    }
    std::string operator()(const codec::PhaseRecord& p) const {
      if (p.end) return fmt::format("end id={} time={}", p.id, ns_of(*p.end));
      std::string line =
          fmt::format("begin id={} parent={} time={} kind={} name={} type={} lane={}", p.id,
                      p.parent, ns_of(*p.begin), static_cast<int>(p.kind), p.name, p.type, p.lane);
      for (const std::uint64_t link : p.links) line += fmt::format(" link={}", link);
      for (const auto& [key, value] : p.attributes) line += fmt::format(" {}={}", key, value);
      return line;
    }
  };
  return std::visit(Describe{}, body);
}

}  // namespace

TestDirectory::TestDirectory() {
  std::string name =
      fs::exists("/dev/shm") ? "/dev/shm/corral-segment-XXXXXX" : "/tmp/corral-segment-XXXXXX";
  CORRAL_ASSERT(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

WriterOptions TestDirectory::options() const {
  WriterOptions options;
  options.directory = path_.c_str();
  return options;
}

std::vector<fs::path> TestDirectory::segments() const {
  std::vector<fs::path> paths;
  for (const std::string& name : sys::list_directory(path_)) {
    if (name.ends_with(".seg")) paths.push_back(path_ / name);
  }
  return paths;
}

Stream read_all(const fs::path& directory) {
  Stream stream;
  for (const std::string& name : sys::list_directory(directory)) {
    if (name.ends_with(".seg")) add_file(stream, directory / name);
  }
  return stream;
}

Stream read_file(const fs::path& segment) {
  Stream stream;
  add_file(stream, segment);
  return stream;
}

codec::Bytes slots_of(const fs::path& segment) {
  const auto content = sys::read_file(segment);
  CORRAL_ASSERT(content && content->size() > kSegmentHeaderBytes);
  return {content->begin() + static_cast<std::ptrdiff_t>(kSegmentHeaderBytes), content->end()};
}

void patch(const fs::path& file, std::size_t offset, std::string_view bytes) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string describe(const Batch& batch) {
  std::string lines;
  for (const Record& record : batch.records) {
    lines += fmt::format("{}-{} {}\n", record.first, record.last, describe(record.body));
  }
  return lines;
}

std::string golden_records() {
  std::ifstream stream(golden_dir() + "/segment-v1.txt");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace corral::spool
