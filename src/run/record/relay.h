// Relay: passes the command's output on, unchanged, and stores it.
//
// The command appends to files and never waits for a reader. Passing on stops for a reader that
// does not read, and goes on when it does; a closed reader is forgotten. Storing goes on all the
// same. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spool/journal.h"
#include "spool/output_file.h"

namespace corral::run {

class Relay {
 public:
  // The standard streams of this process are where output goes; a terminal has only one.
  static Result<Relay> open(const spool::RunDirectory& directory, bool terminal);
  // The same for a run whose supervisor is gone: output that it has stored is not shown again.
  static Result<Relay> resume(const spool::RunDirectory& directory);

  // Descriptors for the command, or for its terminal's holder.
  [[nodiscard]] Result<sys::Fd> standard_output() const { return streams_.front().file.writer(); }
  [[nodiscard]] Result<sys::Fd> standard_error() const { return streams_.back().file.writer(); }

  // Passes output on as far as the readers take it without waiting; true when everything is passed
  // on or has no reader.
  bool pass_on();
  // True when nothing is left for pass_on().
  [[nodiscard]] bool all_passed_on() const;
  // Calls `show` with new output, before it is stored; bounded work per call. True when all was
  // shown.
  using Show = std::function<void(codec::LogStream, std::string_view)>;
  bool show(const Show& show);
  // Stores new output; bounded work per call. True when everything is stored.
  bool store(spool::Journal& journal);
  // Returns the last `bytes` bytes of each stream, one stream after the other.
  [[nodiscard]] std::string tail(std::size_t bytes) const;
  // Reserves and gives back disk space.
  void tidy();
  // Becomes readable when the command has written (inotify); -1 if the kernel has no inotify left.
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
  static Result<Relay> follow(const spool::RunDirectory& directory,
                              const std::vector<std::pair<codec::LogStream, int>>& targets);
  static bool pass_on(Stream& stream);
  std::vector<Stream> streams_;
  bool showing_ = false;  // output is kept until it was shown
  sys::Fd notify_;
};

}  // namespace corral::run
