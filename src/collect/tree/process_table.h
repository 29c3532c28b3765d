// ProcessTable: the processes of a run, walked over once a second.
//
// They are the run's first process, its descendants, and those that outlived their parent: the
// kernel gives these to the supervisor (a child subreaper), whose own helpers are recognised by
// their session or its name. Known processes are visited until they are gone, new ones are found in
// the children lists of the known ones, so the cost does not depend on how many other processes the
// host runs; while nothing starts on it, not even these are read.
//
// The kernel adds the usage of a process to its parent when that waits for it, so a sum over the
// living holds most of the dead. Orphans that have ended are waited for by the walk itself, which
// keeps the result of wait(2); processes that cannot be reaped are counted by the kernel's exit
// records, if available. Sums never fall. One thread; walk() allocates nothing.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/tree/exit_records.h"
#include "collect/tree/parse.h"
#include "collect/tree/process_files.h"

namespace corral::collect::tree {

struct TreeSums {
  Counters counters{};  // sum of living and dead, never less than before
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t resident_pages = 0;
  std::uint64_t hugetlb_kib = 0;
  // peak of any one process that a walk, wait(2) or a record reports
  std::uint64_t peak_resident_kib = 0;
};

class ProcessTable {
 public:
  static constexpr std::size_t kMaxProcesses = 4096;
  // Files of that many processes are kept open, five each, unless that is more than a quarter of
  // the supervisor's limit.
  static constexpr std::size_t kMaxKept = 64;

  struct Options {
    std::filesystem::path root = "/";
    pid_t run_pid = 0;
    pid_t supervisor_pid = 0;
    bool keeps_files = true;  // false: three times as expensive, for rare walks
    // for at most one of this process's tables; this process is the supervisor
    bool reaps_orphans = false;
  };
  explicit ProcessTable(const Options& options);

  // From now on they are counted in.
  void use(ExitRecords records) { exits_.emplace(std::move(records)); }
  // Returns true if records of exits came faster than they were read, since the last call.
  [[nodiscard]] bool lost_exits() {
    const bool left_out = short_lived_.left_out();
    return (exits_ && exits_->lost()) || left_out;
  }
  // One that could not be read, since the last call.
  [[nodiscard]] std::optional<UnreadRecord> unread_exit() {
    return exits_ ? exits_->unread() : std::nullopt;
  }

  const TreeSums& walk();
  // Those of the latest walk, zombies included.
  [[nodiscard]] std::span<const pid_t> pids() const { return pids_; }

 private:
  class Family;
  struct Process {
    pid_t parent = 0;
    std::uint64_t start_time = 0;
    char state = '?';
    bool gone = false;
    bool settled = false;  // gone, and its counters are final
    bool keeps_files = false;
    std::uint64_t threads = 0;
    std::uint64_t resident_pages = 0;
    std::uint64_t hugetlb_kib = 0;
    Counters counters{};
    ProcessFiles::Kept kept;
  };

  [[nodiscard]] std::size_t find(pid_t pid) const;
  // Returns true if this walk must look for new processes.
  [[nodiscard]] bool is_search_due();
  void add(pid_t pid, pid_t parent);
  void add_orphans();
  void add_children_of(std::size_t at);
  void add_children_of_threads();
  void visit(std::size_t at);
  void read_cpu_clock(const ProcessStat& stat, Counters& counters) const;
  // Takes the result of wait(2) for a child of the supervisor that has ended.
  void settle(Process& process, pid_t pid);
  void visit_memory(Process& process, pid_t pid);
  [[nodiscard]] bool has_living_ancestor(const Process& process) const;
  bool is_lost(const Process& process);
  void retire_gone();
  void sum_up();

  pid_t run_;
  pid_t supervisor_;
  bool is_live_;  // /proc is this machine's
  bool reaps_orphans_;
  pid_t supervisor_session_ = 0;
  std::string supervisor_comm_;
  ProcessFiles files_;
  ProcessFiles::Kept supervisor_files_;
  std::vector<pid_t> pids_;  // pids_[i] is that of processes_[i]; parents before their children
  std::vector<Process> processes_;
  std::vector<pid_t> children_;    // scratch
  std::vector<pid_t> thread_ids_;  // scratch
  std::size_t max_kept_;
  std::size_t kept_ = 0;
  std::size_t next_thread_scan_ = 0;
  std::optional<std::uint64_t> newest_task_;
  int unchanged_ = 0;      // walks since it was another one
  bool searches_ = true;   // this walk
  bool complete_ = false;  // the latest search found all there was
  Counters retained_{};    // counters of processes that no process of the table reaped
  std::optional<ExitRecords> exits_;
  ShortLived short_lived_;
  std::vector<pid_t> retired_;         // in this walk
  std::vector<pid_t> retired_before_;  // in the one before
  std::uint64_t us_per_tick_;
  TreeSums sums_;
};

}  // namespace corral::collect::tree
