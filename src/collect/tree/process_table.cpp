#include "collect/tree/process_table.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "sys/process.h"

namespace corral::collect::tree {
namespace {

// Children lists of threads other than the first that one walk reads, 3 us each; the next walk goes
// on from there.
constexpr std::size_t kThreadScansPerWalk = 1024;
constexpr std::size_t kMaxThreads = 4096;
// While nothing starts, only one walk in so many looks for new processes: the file that names the
// newest task may be wrong.
constexpr int kWalksPerSearch = 10;

std::size_t max_kept() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  return std::min<std::size_t>(ProcessTable::kMaxKept, files.rlim_cur / 4 / kProcessFiles);
}

bool is_gone(int error) { return error == ENOENT || error == ESRCH; }

void set_counters(const ProcessStat& stat, std::uint64_t us_per_tick, Counters& counters) {
  counters[kUserMicros] = stat.user_ticks * us_per_tick;
  counters[kSystemMicros] = stat.system_ticks * us_per_tick;
  counters[kMinorFaults] = stat.minor_faults;
  counters[kMajorFaults] = stat.major_faults;
}

std::uint64_t to_micros(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

// CPU time that a process, its exited threads included, has used; 0 when it is gone.
std::uint64_t cpu_micros(pid_t pid) {
  constexpr unsigned kScheduler = 2;  // CPUCLOCK_SCHED of the kernel's clock numbers
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3u) | kScheduler);
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

}  // namespace

// Answers the questions of ShortLived.
class ProcessTable::Family final : public ShortLived::Family {
 public:
  explicit Family(ProcessTable& table) : table_(table) {}
  [[nodiscard]] bool is_known(pid_t process) const override {
    const auto holds = [&](const std::vector<pid_t>& list) {
      return std::ranges::find(list, process) != list.end();
    };
    return holds(table_.pids_) || holds(table_.retired_) || holds(table_.retired_before_);
  }
  [[nodiscard]] bool is_supervisor(pid_t process) const override {
    return process == table_.supervisor_;
  }
  [[nodiscard]] bool is_helper(pid_t process) const override { return sys::started_here(process); }
  [[nodiscard]] bool ignores_children(pid_t process) override {
    const auto status = table_.files_.read(process, ProcessFile::kStatus, nullptr);
    return status && parse_ignores_children(*status);
  }

 private:
  ProcessTable& table_;
};

ProcessTable::ProcessTable(const Options& options)
    : run_(options.run_pid),
      supervisor_(options.supervisor_pid),
      is_live_(options.root == "/"),
      reaps_orphans_(options.reaps_orphans),
      files_(options.root),
      children_(kMaxProcesses),
      thread_ids_(kMaxThreads),
      max_kept_(options.keeps_files ? max_kept() : 0),
      us_per_tick_(1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK))) {
  pids_.reserve(kMaxProcesses);
  retired_.reserve(kMaxProcesses);
  retired_before_.reserve(kMaxProcesses);
  processes_.reserve(kMaxProcesses);
  ProcessStat self;
  const auto text = files_.read(supervisor_, ProcessFile::kStat, nullptr);
  if (text && parse_process_stat(*text, self)) {
    supervisor_session_ = self.session;
    supervisor_comm_ = self.comm;
  }
  add(options.run_pid, options.supervisor_pid);
}

std::size_t ProcessTable::find(pid_t pid) const {
  return static_cast<std::size_t>(std::ranges::find(pids_, pid) - pids_.begin());
}

void ProcessTable::add(pid_t pid, pid_t parent) {
  if (pid <= 0 || find(pid) != pids_.size()) return;
  if (pids_.size() == kMaxProcesses) {
    complete_ = false;
    return;
  }
  Process& process = processes_.emplace_back();
  pids_.push_back(pid);
  process.parent = parent;
  process.keeps_files = kept_ < max_kept_;
  if (process.keeps_files) ++kept_;
}

// The supervisor's children that are the run's. Its helpers either stay in its session (git, ...)
// or bear its name (the server that it started, which leads its own session). The kernel gives
// orphans to the first thread of a subreaper, which lives as long as that: the lists of the others
// hold helpers only.
void ProcessTable::add_orphans() {
  const auto list = files_.read(supervisor_, ProcessFile::kChildren, &supervisor_files_);
  const std::size_t count = list ? parse_children(*list, children_) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (find(children_[i]) != pids_.size()) continue;
    ProcessStat stat;
    const auto text = files_.read(children_[i], ProcessFile::kStat, nullptr);
    if (!text || !parse_process_stat(*text, stat)) continue;
    if (stat.session != supervisor_session_ && stat.comm != supervisor_comm_) {
      add(children_[i], supervisor_);
    }
  }
}

void ProcessTable::add_children_of(std::size_t at) {
  Process& process = processes_[at];
  const auto list =
      files_.read(pids_[at], ProcessFile::kChildren, process.keeps_files ? &process.kept : nullptr);
  const std::size_t count = list ? parse_children(*list, children_) : 0;
  for (std::size_t i = 0; i < count; ++i) add(children_[i], pids_[at]);
}

// A child is in the list of the thread that made it, and not every program forks from its first
// thread.
void ProcessTable::add_children_of_threads() {
  const std::size_t known = pids_.size();
  std::size_t left = kThreadScansPerWalk;
  for (std::size_t k = 0; k < known && left > 0; ++k) {
    const std::size_t at = (next_thread_scan_ + k) % known;
    if (processes_[at].gone || processes_[at].threads < 2) continue;
    const std::size_t threads = std::min(files_.list_threads(pids_[at], thread_ids_), left);
    left -= threads;
    if (left == 0) {
      next_thread_scan_ = at + 1;
      complete_ = false;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      if (thread_ids_[t] == pids_[at]) continue;
      const auto list = files_.read_children(pids_[at], thread_ids_[t]);
      const std::size_t count = list ? parse_children(*list, children_) : 0;
      for (std::size_t i = 0; i < count; ++i) add(children_[i], pids_[at]);
    }
  }
}

void ProcessTable::visit_memory(Process& process, pid_t pid) {
  process.resident_pages = process.hugetlb_kib = 0;
  if (process.state == 'Z') return;
  ProcessFiles::Kept* kept = process.keeps_files ? &process.kept : nullptr;
  const auto statm = files_.read(pid, ProcessFile::kStatm, kept);
  if (statm) parse_statm(*statm, process.resident_pages);
  const auto status = files_.read(pid, ProcessFile::kStatus, kept);
  const StatusMemory memory = status ? parse_status_memory(*status) : StatusMemory();
  process.hugetlb_kib = memory.hugetlb_kib;
  sums_.peak_resident_kib = std::max(sums_.peak_resident_kib, memory.peak_resident_kib);
}

void ProcessTable::visit(std::size_t at) {
  Process& process = processes_[at];
  const pid_t pid = pids_[at];
  ProcessFiles::Kept* kept = process.keeps_files ? &process.kept : nullptr;
  ProcessStat stat;
  const auto text = files_.read(pid, ProcessFile::kStat, kept);
  if (!text || !parse_process_stat(*text, stat)) {
    process.gone = text.has_value() || is_gone(errno);
    return;
  }
  const bool is_new = process.start_time == 0;
  if (!is_new && process.start_time != stat.start_time) {  // another process has the pid by now
    process.gone = true;
    return;
  }
  // The kernel is just releasing it: half of the fields are 0 by now, its usage is its parent's.
  if (stat.parent == 0 && (stat.state == 'X' || stat.state == 'Z')) {
    process.gone = true;
    return;
  }
  process.start_time = stat.start_time;
  process.parent = stat.parent;
  process.state = stat.state;
  process.threads = stat.threads;
  set_counters(stat, us_per_tick_, process.counters);
  if (is_live_) read_cpu_clock(stat, process.counters);
  if (const auto io = files_.read(pid, ProcessFile::kIo, kept))
    parse_process_io(*io, process.counters);
  // Being reaped at this instant: its parent has, or is about to get, its usage.
  process.gone = stat.state == 'X';
  if (process.gone) return;
  visit_memory(process, pid);
  if (is_live_ && stat.state == 'Z' && stat.parent == supervisor_) settle(process, pid);
  if (searches_ && !process.gone) add_children_of(at);
}

// /proc cuts both times down to whole ticks of the clock, which is all that a short process uses.
void ProcessTable::read_cpu_clock(const ProcessStat& stat, Counters& counters) const {
  const std::uint64_t used = cpu_micros(stat.pid);
  const std::uint64_t told = (stat.own_user_ticks + stat.own_system_ticks) * us_per_tick_;
  if (used <= told) return;
  const std::uint64_t rest = std::min(used - told, 2 * us_per_tick_);
  // The kernel gives everything to the one of which it saw any, and to user mode if to neither.
  std::uint64_t system = rest / 2;
  if (stat.own_system_ticks == 0) system = 0;
  if (stat.own_system_ticks != 0 && stat.own_user_ticks == 0) system = rest;
  counters[kUserMicros] += rest - system;
  counters[kSystemMicros] += system;
}

void ProcessTable::settle(Process& process, pid_t pid) {
  // The run's own process and the supervisor's helpers are waited for by others.
  const bool own = pid == run_ || sys::started_here(pid);
  const bool reaps = reaps_orphans_ && !own;
  siginfo_t ended{};
  rusage used{};  // with all that it waited for, and their greatest memory
  const int options = WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT);
  if (::syscall(SYS_waitid, P_PID, pid, &ended, options, &used) != 0 || ended.si_pid != pid) return;
  process.counters[kUserMicros] = to_micros(used.ru_utime);
  process.counters[kSystemMicros] = to_micros(used.ru_stime);
  // The time that this process had used when it forked counts for its child, too.
  rusage self{};
  ::getrusage(RUSAGE_SELF, &self);
  if (!own || used.ru_maxrss > self.ru_maxrss) {
    sums_.peak_resident_kib =
        std::max(sums_.peak_resident_kib, static_cast<std::uint64_t>(used.ru_maxrss));
  }
  process.gone = process.settled = reaps;
}

bool ProcessTable::has_living_ancestor(const Process& process) const {
  pid_t parent = process.parent;
  for (std::size_t depth = 0; depth < kMaxProcesses; ++depth) {
    const std::size_t at = find(parent);
    if (at == pids_.size()) return false;
    // The children that a settled one waited for are part of it.
    if (!processes_[at].gone || processes_[at].settled) return true;
    parent = processes_[at].parent;
  }
  return false;
}

// No process of the run inherits its usage.
bool ProcessTable::is_lost(const Process& process) {
  const std::size_t parent = find(process.parent);
  if (parent == pids_.size() || processes_[parent].gone) return !has_living_ancestor(process);
  const auto status = files_.read(process.parent, ProcessFile::kStatus, nullptr);
  return status && parse_ignores_children(*status);
}

void ProcessTable::retire_gone() {
  for (const Process& process : processes_) {
    if (process.gone && is_lost(process)) add_to(retained_, process.counters);
  }
  // An exit between the records' end and its visit is counted at the next walk.
  retired_before_.swap(retired_);
  retired_.clear();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].gone) {
      retired_.push_back(pids_[i]);
      if (processes_[i].keeps_files) --kept_;
      continue;
    }
    if (kept != i) {
      processes_[kept] = std::move(processes_[i]);
      pids_[kept] = pids_[i];
    }
    ++kept;
  }
  processes_.resize(kept);
  pids_.resize(kept);
}

void ProcessTable::sum_up() {
  sums_.processes = sums_.threads = sums_.resident_pages = sums_.hugetlb_kib = 0;
  Counters now = retained_;
  add_to(now, short_lived_.totals().counters);
  sums_.peak_resident_kib =
      std::max(sums_.peak_resident_kib, short_lived_.totals().peak_resident_kib);
  for (const Process& process : processes_) {
    add_to(now, process.counters);
    sums_.resident_pages += process.resident_pages;
    sums_.hugetlb_kib += process.hugetlb_kib;
    if (process.state == 'Z') continue;
    ++sums_.processes;
    sums_.threads += process.threads;
  }
  // A process reaped between the reads of its parent and of itself is in neither for this walk.
  for (std::size_t i = 0; i < kCounterCount; ++i)
    sums_.counters[i] = std::max(sums_.counters[i], now[i]);
}

// A task has its number a moment before it is its parent's child: a start is followed by two
// searches.
bool ProcessTable::is_search_due() {
  const auto newest = files_.newest_task();
  const auto before = std::exchange(newest_task_, newest);
  unchanged_ = newest && newest == before ? unchanged_ + 1 : 0;
  return unchanged_ < 2 || !complete_ || unchanged_ % kWalksPerSearch == 0;
}

const TreeSums& ProcessTable::walk() {
  const auto add = [this](const ExitRecord& record) { short_lived_.add(record); };
  if (exits_) exits_->drain(std::ref(add));
  searches_ = is_search_due();
  if (searches_) {
    complete_ = true;
    add_orphans();
  }
  std::size_t at = 0;
  for (; at < pids_.size(); ++at) visit(at);
  if (searches_) add_children_of_threads();
  for (; at < pids_.size(); ++at) visit(at);
  retire_gone();
  Family family(*this);
  short_lived_.resolve(family);
  sum_up();
  return sums_;
}

}  // namespace corral::collect::tree
