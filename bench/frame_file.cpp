#include "frame_file.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "store_access.h"

namespace corral::bench {
namespace {

File open_file(const std::filesystem::path& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) give_up("cannot open " + path.string());
  return file;
}

void generate(const Workload& workload, std::size_t run, std::size_t rows, std::size_t flush_rows,
              const std::filesystem::path& path) {
  RunSource source(workload, run);
  FrameFileWriter out(path);
  out.record(source.describe());
  for (std::size_t row = 0; row < rows; row += flush_rows)
    out.record(source.flush(std::min(flush_rows, rows - row)));
  out.record(source.finish());
}

void wait_for_child() {
  int status = 0;
  if (::wait(&status) < 0 || status != 0) give_up("the generator failed");
}

}  // namespace

FrameFileWriter::FrameFileWriter(const std::filesystem::path& path)
    : file_(open_file(path, "wb")) {}

void FrameFileWriter::record(const std::vector<codec::Bytes>& frames) {
  std::uint32_t size = 0;
  for (const codec::Bytes& frame : frames) size += static_cast<std::uint32_t>(frame.size());
  bool good = std::fwrite(&size, sizeof size, 1, file_.get()) == 1;
  for (const codec::Bytes& frame : frames)
    good = good && std::fwrite(frame.data(), 1, frame.size(), file_.get()) == frame.size();
  if (!good) give_up("cannot write frames: is the disk full?");
}

FrameFileReader::FrameFileReader(const std::filesystem::path& path)
    : file_(open_file(path, "rb")) {}

const std::vector<codec::ByteView>& FrameFileReader::next() {
  frames_.clear();
  std::uint32_t size = 0;
  if (std::fread(&size, sizeof size, 1, file_.get()) != 1) return frames_;
  bytes_.resize(size);
  if (std::fread(bytes_.data(), 1, size, file_.get()) != size) give_up("frame file cut off");
  frames_ = split_frames(bytes_);
  return frames_;
}

std::vector<codec::ByteView> split_frames(codec::ByteView bytes) {
  std::vector<codec::ByteView> frames;
  while (!bytes.empty()) {
    const std::size_t length = must(codec::frame_length(bytes), "frame_length");
    if (length == 0 || length > bytes.size()) give_up("a frame is cut off");
    frames.push_back(bytes.first(length));
    bytes = bytes.subspan(length);
  }
  return frames;
}

std::vector<std::filesystem::path> generate_files(const Workload& workload, std::size_t rows,
                                                  std::size_t flush_rows,
                                                  const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  std::vector<std::filesystem::path> files;
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::size_t running = 0;
  for (std::size_t run = 0; run < workload.runs; ++run) {
    files.push_back(directory / fmt::format("{}.frames", run_name(run)));
    if (running == at_once) {
      wait_for_child();
      --running;
    }
    const pid_t child = ::fork();
    if (child < 0) give_up("fork failed");
    if (child == 0) {
      generate(workload, run, rows, flush_rows, files.back());
      ::_exit(0);
    }
    ++running;
  }
  for (; running > 0; --running) wait_for_child();
  return files;
}

}  // namespace corral::bench
