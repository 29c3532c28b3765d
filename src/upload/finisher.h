// Finisher: takes over the spools of supervisors that are gone and brings them to the server.
//
// A run whose supervisor was killed continues; its log calls land in segments, its output in files.
// step() finds such runs by the free lock of their directory, stores their data, and, once the
// command has ended too, writes the run's end ("unknown", because its exit status was never
// collected) and removes the directory. A Successor answers requests of the run's programs to their
// supervisor. Run by every server for its own store and by supervisors that upload to a URL. One
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spool/journal.h"
#include "spool/output_file.h"
#include "spool/run_directory.h"
#include "upload/transport.h"
#include "upload/uploader.h"

namespace corral::upload {

// Successor: answers programs of a run in place of its supervisor, which is gone (run/tracking.h),
// for as long as the command lives. On the finisher's thread.
class Successor {
 public:
  // Answers nothing more, and ends nothing.
  virtual ~Successor() = default;
  // Once a round while the command lives. Failed steps are tried again, then reported in the run's
  // journal.
  virtual void serve() = 0;
  [[nodiscard]] virtual bool serving() const = 0;
  // The command is gone: ends the runs that its programs left open, before the run ends.
  virtual void end() = 0;
};

// Both outlive the result; nullptr: there is nothing to do for this run.
using MakeSuccessor =
    std::function<std::unique_ptr<Successor>(const spool::RunDirectory&, spool::Journal&)>;

// The exit status of a run's command that could not be reaped, if something else has it.
using EndStatus = std::function<std::optional<int>(const spool::Manifest& run)>;

class Finisher {
 public:
  // `successor` and `end_status` may be empty.
  Finisher(std::vector<spool::fs::path> roots, spool::Destination destination,
           MakeSuccessor successor = {}, EndStatus end_status = {});
  ~Finisher();

  // One round over all spools. An Error of the server's is given back and ends the round; the next
  // one begins with the run after, so that one whose data does not go through holds no other up.
  Result<> step(Transport& server);
  // Runs of the destination that were not finished at the last round: taken over, or still in the
  // hands of their supervisors.
  [[nodiscard]] std::size_t unfinished() const { return runs_.size() + supervised_; }
  // Some run's programs are answered: they wait for the next round.
  [[nodiscard]] bool serving() const;
  // Returns the problems of single spools since the last call, each once.
  std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

 private:
  struct Adopted;
  void adopt_new();
  void adopt(const spool::fs::path& path);
  void refuse(const spool::fs::path& path, const Error& error);
  void complain(const std::string& problem);
  [[nodiscard]] codec::RunEndBody end_of(Adopted& run) const;
  static void report_lost_supervisor(Adopted& run);
  void end(Adopted& run);
  Result<> finish_artifacts(Adopted& run, Transport& server);
  Result<bool> finish(Adopted& run, Transport& server);  // true: done and removed
  std::vector<spool::fs::path> roots_;
  spool::Destination destination_;
  MakeSuccessor make_successor_;
  EndStatus end_status_;
  std::map<std::string, std::unique_ptr<Adopted>> runs_;
  std::string failed_;  // the run that ended a round last
  std::size_t supervised_ = 0;
  std::vector<std::string> problems_;
  std::set<std::string> reported_;
};

}  // namespace corral::upload
