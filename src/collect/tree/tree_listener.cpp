#include "collect/tree/tree_listener.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "collect/key_value_file.h"
#include "collect/proc_file.h"
#include "collect/tree/perf_counters.h"
#include "collect/tree/process_table.h"
#include "collect/tree/thread_table.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

using tree::ProcessTable;
using tree::TreeSums;

constexpr double kMicrosecond = 1e-6;
constexpr double kKib = 1024;

struct PerfMetric {
  PerfEvent event;
  std::string_view metric;
  double scale;
};
constexpr auto kPerfMetrics = std::to_array<PerfMetric>({
    {PerfEvent::kTaskClock, "run.cpu.used", 1e-9},
    {PerfEvent::kContextSwitches, "run.scheduler.context_switches", 1},
    {PerfEvent::kMigrations, "run.scheduler.migrations", 1},
    {PerfEvent::kMinorFaults, "run.memory.minor_faults", 1},
    {PerfEvent::kMajorFaults, "run.memory.major_faults", 1},
});

constexpr auto kWaitMetrics = std::to_array<std::string_view>(
    {"run.thread.waited.lock", "run.thread.waited.file", "run.thread.waited.pipe",
     "run.thread.waited.device", "run.thread.waited.other"});
static_assert(kWaitMetrics.size() == tree::kWaits);

class TreeListener final : public Listener {
 public:
  TreeListener(const ListenerContext& context, SeriesTable& table)
      : table_({.root = context.root,
                .run_pid = context.run_pid,
                .supervisor_pid = context.supervisor_pid,
                .reaps_orphans = context.root == "/" && context.supervisor_pid == ::getpid()}),
        thread_table_(context.root),
        news_(context.news) {
    if (context.perf != nullptr) perf_ = std::move(*context.perf);
    declare_perf(table);
    declare_hardware(table);
    declare_walk(context, table);
    declare_threads(context, table);
    use_exit_records(context, table);
  }

  void sample_fast(Row& row) override {
    perf_.read();
    for (std::size_t i = 0; i < kPerfMetrics.size(); ++i) {
      if (perf_columns_[i] == kNoColumn) continue;
      const auto value = perf_.value(kPerfMetrics[i].event);
      if (value) row.set(perf_columns_[i], static_cast<double>(*value) * kPerfMetrics[i].scale);
    }
    if (pmu_share_ != kNoColumn) sample_hardware(row);
  }

  void sample_slow(Row& row) override {
    const TreeSums& sums = table_.walk();
    report_exits();
    for (const CounterColumn& c : counter_columns_) {
      row.set(c.column, static_cast<double>(sums.counters[c.counter]) * c.scale);
    }
    row.set(used_, static_cast<double>(sums.counters[tree::kUserMicros] +
                                       sums.counters[tree::kSystemMicros]) *
                       kMicrosecond);
    row.set(processes_, sums.processes);
    row.set(threads_, sums.threads);
    // A run whose last process is a zombie has no memory to measure.
    if (sums.resident_pages > 0) {
      row.set(rss_, static_cast<double>(sums.resident_pages) * page_bytes());
      row.set(hugetlb_, static_cast<double>(sums.hugetlb_kib) * kKib);
    }
    row.set(rss_peak_, static_cast<double>(sums.peak_resident_kib) * kKib);
    if (measures_threads_) sample_threads(row);
  }

 private:
  struct CounterColumn {
    Column column;
    tree::Counter counter;
    double scale;
  };

  struct ThreadColumns {
    Column process, thread, cpu, run_delay;
    std::array<Column, tree::kWaits> waited;
  };

  void sample_threads(Row& row) {
    constexpr double kNanosecond = 1e-9;
    const BootTime now = row.time() == BootTime() ? sys::boot_now() : row.time();
    thread_table_.walk(table_.pids(), now);
    const auto places = thread_table_.places();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const tree::ThreadTable::Place& place = places[i];
      if (place.thread == 0) continue;
      const ThreadColumns& columns = thread_columns_[i];
      row.set(columns.process, static_cast<double>(place.process));
      row.set(columns.thread, static_cast<double>(place.thread));
      row.set(columns.cpu, static_cast<double>(place.times.cpu) * kNanosecond);
      row.set(columns.run_delay, static_cast<double>(place.times.run_delay) * kNanosecond);
      if (!place.waits_known) continue;
      for (std::size_t w = 0; w < tree::kWaits; ++w)
        row.set(columns.waited[w], static_cast<double>(place.waited[w]) * kNanosecond);
    }
    if (thread_table_.refusal() != 0 && !std::exchange(reported_refusal_, true)) {
      tell(news_, "run.thread.waited.*", "/proc/PID/task/TID/syscall: {}",
           std::strerror(thread_table_.refusal()));
    }
  }

  // A place's columns are stored from its first thread on: a run of few threads has few series.
  void declare_threads(const ListenerContext& context, SeriesTable& table) {
    const std::string id = std::to_string(context.run_pid);
    const auto task = context.root / "proc" / id / "task" / id;
    const auto times = ProcFile::open(task / "schedstat");
    measures_threads_ = times.has_value();
    if (!measures_threads_) return table.unavailable("run.thread.*", times.error().message);
    if (const auto call = ProcFile::open(task / "syscall"); !call)
      table.unavailable("run.thread.waited.*", call.error().message);
    for (std::size_t i = 0; i < thread_columns_.size(); ++i) {
      const std::string source = std::to_string(i + 1);
      ThreadColumns& columns = thread_columns_[i];
      columns.process = table.add("run.thread.process", source);
      columns.thread = table.add("run.thread.id", source);
      columns.cpu = table.add("run.thread.cpu", source);
      columns.run_delay = table.add("run.thread.run_delay", source);
      for (std::size_t w = 0; w < tree::kWaits; ++w)
        columns.waited[w] = table.add(kWaitMetrics[w], source);
    }
  }

  void report_exits() {
    constexpr std::string_view kMissing = "run.* of short-lived processes";
    if (table_.lost_exits() && !std::exchange(reported_lost_, true))
      tell(news_, kMissing,
           "processes end faster than the kernel's records of it are read: some are missing");
    const auto unread = table_.unread_exit();
    if (unread && !std::exchange(reported_unread_, true)) {
      std::array<char, 200> room;
      tell(news_, kMissing, "{}", tree::describe_unread(*unread, room));
    }
  }

  void declare_perf(SeriesTable& table) {
    for (std::size_t i = 0; i < kPerfMetrics.size(); ++i) {
      const PerfMetric& m = kPerfMetrics[i];
      perf_columns_[i] = perf_.counts(m.event) ? table.add(m.metric) : kNoColumn;
      if (perf_.counts(m.event)) continue;
      const std::string& refused = perf_.reason(m.event);
      std::string reason = refused.empty() ? "perf was not opened" : "perf: " + refused;
      switch (m.event) {  // events that /proc counts too, at the walks
        case PerfEvent::kTaskClock:
          used_ = table.add_to(kSlowGroup, m.metric);
          reason += "; read from /proc once a second instead";
          break;
        case PerfEvent::kMinorFaults:
        case PerfEvent::kMajorFaults:
          declare_counter(
              table, m.metric,
              m.event == PerfEvent::kMinorFaults ? tree::kMinorFaults : tree::kMajorFaults, 1);
          reason += "; read from /proc once a second instead";
          break;
        case PerfEvent::kContextSwitches:
        case PerfEvent::kMigrations:
          break;
      }
      table.unavailable(m.metric, reason);
    }
  }

  void declare_hardware(SeriesTable& table) {
    HardwareCounters& pmu = perf_.hardware();
    if (!pmu.counts_anything()) {
      table.unavailable("run.pmu.*", pmu.reason(0).empty() ? "perf was not opened" : pmu.reason(0));
      return;
    }
    for (std::size_t i = 0; i < kHardwareEvents; ++i) {
      const std::string_view metric = hardware_events()[i].metric;
      pmu_columns_[i] = pmu.counts(i) ? table.add(metric) : kNoColumn;
      if (!pmu.counts(i)) table.unavailable(metric, pmu.reason(i));
    }
    pmu_share_ = table.add("run.pmu.counted_share");
    if (pmu.user_mode_only()) {
      table.unavailable("run.pmu.* of the kernel's part",
                        "not allowed (perf_event_paranoid of 1 or less, or CAP_PERFMON): user mode "
                        "is counted alone");
    }
  }

  void sample_hardware(Row& row) {
    HardwareCounters& pmu = perf_.hardware();
    pmu.read();
    for (std::size_t i = 0; i < kHardwareEvents; ++i) {
      if (const auto value = pmu.value(i)) row.set(pmu_columns_[i], *value);
    }
    if (const auto share = pmu.share()) row.set(pmu_share_, *share);
  }

  void declare_walk(const ListenerContext& context, SeriesTable& table) {
    declare_counter(table, "run.cpu.user", tree::kUserMicros, kMicrosecond);
    declare_counter(table, "run.cpu.system", tree::kSystemMicros, kMicrosecond);
    processes_ = table.add("run.processes");
    threads_ = table.add("run.threads");
    rss_ = table.add("run.memory.rss");
    hugetlb_ = table.add("run.memory.hugetlb");
    rss_peak_ = table.add("run.memory.rss_peak");

    const std::filesystem::path process = context.root / "proc" / std::to_string(context.run_pid);
    if (auto io = ProcFile::open(process / "io"); !io) {
      table.unavailable("run.io.*", io.error().message);
    } else {
      declare_counter(table, "run.io.read_syscall_bytes", tree::kReadSyscallBytes, 1);
      declare_counter(table, "run.io.write_syscall_bytes", tree::kWriteSyscallBytes, 1);
      declare_counter(table, "run.io.read_syscalls", tree::kReadSyscalls, 1);
      declare_counter(table, "run.io.write_syscalls", tree::kWriteSyscalls, 1);
      declare_counter(table, "run.io.read_block_bytes", tree::kReadBlockBytes, 1);
      declare_counter(table, "run.io.write_block_bytes", tree::kWriteBlockBytes, 1);
    }
    const auto children =
        ProcFile::open(process / "task" / std::to_string(context.run_pid) / "children");
    if (!children) {
      table.unavailable("descendants of the run's first process", children.error().message);
    }
  }

  // Without exit records, the usage of children of a process that ignores SIGCHLD would be missing.
  void use_exit_records(const ListenerContext& context, SeriesTable& table) {
    if (context.root != "/") return;  // records are this machine's
    auto records = tree::ExitRecords::open();
    if (records) return table_.use(*std::move(records));
    table.unavailable("run.* of processes that cannot be reaped", records.error().message);
  }

  void declare_counter(SeriesTable& table, std::string_view metric, tree::Counter counter,
                       double scale) {
    counter_columns_.push_back(
        {.column = table.add_to(kSlowGroup, metric), .counter = counter, .scale = scale});
  }

  PerfCounters perf_;
  ProcessTable table_;
  tree::ThreadTable thread_table_;
  std::shared_ptr<News> news_;
  bool measures_threads_ = false;
  bool reported_refusal_ = false;
  bool reported_lost_ = false;
  bool reported_unread_ = false;
  std::array<Column, kPerfMetrics.size()> perf_columns_{};
  std::array<Column, kHardwareEvents> pmu_columns_{};
  Column pmu_share_ = kNoColumn;
  std::array<ThreadColumns, tree::ThreadTable::kPlaces> thread_columns_{};
  std::vector<CounterColumn> counter_columns_;
  Column used_ = kNoColumn, processes_ = kNoColumn, threads_ = kNoColumn, rss_ = kNoColumn,
         hugetlb_ = kNoColumn, rss_peak_ = kNoColumn;
};

}  // namespace

std::unique_ptr<Listener> open_tree_listener(const ListenerContext& context, SeriesTable& table) {
  if (context.run_pid == 0) {
    table.unavailable("run.*", "there is no run");
    return nullptr;
  }
  return std::make_unique<TreeListener>(context, table);
}

}  // namespace corral::collect
