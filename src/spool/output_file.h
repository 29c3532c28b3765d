// OutputFile: one output stream of a run's command, as the file that the command appends to.
//
// The command writes to an O_APPEND file and never waits for anyone. The process that holds the run
// directory follows it: new bytes become log frames, stored bytes are punched out of the file so
// that it never holds more than the latest part, and space is reserved ahead so that a full disk
// does not fail a print. The offset up to which bytes are stored is kept beside the file, so that a
// successor goes on from there.
#pragma once

#include <cstdint>

#include "codec/frame.h"
#include "core/result.h"
#include "spool/journal.h"
#include "spool/run_directory.h"

namespace corral::spool {

class OutputFile {
 public:
  // Makes the file when it is missing; an error where its disk has no room for any output.
  static Result<OutputFile> open(const RunDirectory& directory, codec::LogStream stream);

  // Descriptor for the command: append-only.
  [[nodiscard]] Result<sys::Fd> writer() const;
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::int64_t stored() const { return stored_; }
  // Reads bytes at an offset, as many as there are up to the buffer's size; 0 at the end.
  [[nodiscard]] std::size_t read(std::int64_t offset, std::span<char> buffer) const;
  // Stores new output, at most `max_chunks` log frames; returns true if some is left.
  bool store(Journal& journal, int max_chunks);
  // Reserves 4 MiB beyond the end and gives back to the disk what lies below `keep_from` and is
  // stored.
  void tidy(std::int64_t keep_from);

 private:
  OutputFile(sys::PrivateDirectory directory, codec::LogStream stream, sys::Fd file, sys::Fd mark)
      : directory_(std::move(directory)),
        stream_(stream),
        file_(std::move(file)),
        mark_(std::move(mark)) {}
  sys::PrivateDirectory directory_;
  codec::LogStream stream_;
  sys::Fd file_;
  sys::Fd mark_;
  std::int64_t stored_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t punched_ = 0;
};

}  // namespace corral::spool
