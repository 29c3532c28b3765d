// Frames on disk between the generator and the store, so that making them costs neither CPU nor
// memory of the process that is measured: records of a u32 length and frames one after another; a
// record is what one request carries.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "codec/frame.h"
#include "workload.h"

namespace corral::bench {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class FrameFileWriter {
 public:
  explicit FrameFileWriter(const std::filesystem::path& path);
  void record(const std::vector<codec::Bytes>& frames);

 private:
  File file_;
};

class FrameFileReader {
 public:
  explicit FrameFileReader(const std::filesystem::path& path);
  // The frames of the next record, valid until the next call; empty at the end.
  const std::vector<codec::ByteView>& next();

 private:
  File file_;
  codec::Bytes bytes_;
  std::vector<codec::ByteView> frames_;
};

// Whole frames one after another.
std::vector<codec::ByteView> split_frames(codec::ByteView bytes);

// One file per run, made by child processes: `rows` of every series, `flush_rows` a record.
// Call it while the process has one thread.
std::vector<std::filesystem::path> generate_files(const Workload& workload, std::size_t rows,
                                                  std::size_t flush_rows,
                                                  const std::filesystem::path& directory);

}  // namespace corral::bench
