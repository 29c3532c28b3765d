// Relay: passes the command's output on, unchanged, and stores it.
//
// The command appends to files and waits for nobody. Passing on stops for a reader that does not
// read, and goes on when it does; a closed reader is forgotten. Storing goes on all the same. One
// thread.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "spool/journal.h"
#include "spool/output_file.h"

namespace corral::run {

class Relay {
 public:
  // The standard streams of this process are where output goes.
  static Result<Relay> open(const spool::RunDirectory& directory);

  // Descriptors for the command.
  [[nodiscard]] Result<sys::Fd> standard_output() const { return streams_[0].file.writer(); }
  [[nodiscard]] Result<sys::Fd> standard_error() const { return streams_[1].file.writer(); }

  // Passes on what is there as far as the readers take it without waiting; true when everything is
  // passed on or has no reader.
  bool pass_on();
  // Shows what has not been shown yet, before it is stored; bounded work per call. True when all
  // was shown.
  using Show = std::function<void(codec::LogStream, std::string_view)>;
  bool show(const Show& show);
  // Stores what is there; bounded work per call. True when everything is stored.
  bool store(spool::Journal& journal);
  // Reserves and gives back disk space.
  void tidy();
  // Becomes readable when the command has written (inotify); -1 when the kernel has none to give.
  [[nodiscard]] int wake_descriptor() const { return notify_.get(); }
  void consume_wakes() const;

 private:
  struct Stream {
    spool::OutputFile file;
    codec::LogStream stream;
    int target;
    std::int64_t passed = 0;
    std::int64_t shown = 0;
    bool closed = false;
  };
  explicit Relay(std::vector<Stream> streams, sys::Fd notify)
      : streams_(std::move(streams)), notify_(std::move(notify)) {}
  static bool pass_on(Stream& stream);
  std::vector<Stream> streams_;
  bool showing_ = false;  // what was not shown yet is kept
  sys::Fd notify_;
};

}  // namespace corral::run
