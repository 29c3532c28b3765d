// For tests: a run's spool, and a process that logs into it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "spool/journal.h"
#include "spool/segment_writer.h"
#include "spool/test_spool.h"

namespace corral::upload {

using spool::TestDirectory;
using spool::view;

// One run's spool. Writers here live in this process; those that must end are forked.
struct Spooled {
  explicit Spooled(spool::Manifest manifest = spool::test_manifest())
      : directory(spool::RunDirectory::create(root.path(), std::move(manifest)).value()),
        journal(spool::Journal::open(directory, 1ll << 30).value()) {
    journal.describe(spool::session_body(directory.manifest()));
  }
  [[nodiscard]] spool::WriterOptions writer_options() const {
    segments = directory.segments().string();
    spool::WriterOptions options;
    options.directory = segments.c_str();
    options.first_bytes = 4096 + 64 * 32;  // small ones, so that they follow each other quickly
    options.largest_bytes = 4096 + 128 * 32;
    return options;
  }
  [[nodiscard]] std::size_t refused_files() const {
    return sys::list_directory(directory.path() / "refused").size();
  }

  TestDirectory root;
  spool::RunDirectory directory;
  spool::Journal journal;
  mutable std::string segments;
};

// A process that logs on request: one value per byte of the pipe; ends when the pipe
// closes.
class Trainee {
 public:
  explicit Trainee(const Spooled& run) {
    std::array<int, 2> orders{};
    std::array<int, 2> done{};
    CORRAL_ASSERT(::pipe(orders.data()) == 0 && ::pipe(done.data()) == 0);
    const spool::WriterOptions options = run.writer_options();
    pid_ = ::fork();
    if (pid_ == 0) {
      // As after an exec: nothing of the supervisor's, its lock least of all.
      ::dup2(orders[0], 0);
      ::dup2(done[1], 1);
      ::close_range(3, ~0u, 0);
      spool::SegmentWriter writer(options);
      for (char value = 0; ::read(0, &value, 1) == 1;) {
        writer.point(writer.series(view("loss")), spool::SegmentWriter::now(), value, nullptr);
        if (::write(1, &value, 1) != 1) break;
      }
      ::_exit(0);
    }
    ::close(orders[0]);
    ::close(done[1]);
    orders_ = sys::Fd(orders[1]);
    done_ = sys::Fd(done[0]);
  }
  ~Trainee() { kill(SIGKILL); }
  void log(char value) {
    ASSERT_EQ(::write(orders_.get(), &value, 1), 1);
    ASSERT_EQ(::read(done_.get(), &value, 1), 1);
  }
  void end() {
    orders_.reset();
    reap();
  }
  void kill(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
    reap();
  }
  [[nodiscard]] sys::ProcessIdentity identity() const { return sys::identity_of(pid_).value(); }

 private:
  void reap() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid_ = 0;
  sys::Fd orders_;
  sys::Fd done_;
};

}  // namespace corral::upload
