#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/table.h"
#include "collect/foreign/config.h"
#include "collect/foreign/foreign_sources.h"
#include "collect/pressure/stall_watch.h"
#include "collect/sampler/listeners.h"
#include "collect/sampler/sampler.h"
#include "collocate/offers.h"
#include "core/result.h"
#include "core/text.h"
#include "run/otlp/otlp_receiver.h"
#include "run/profiler.h"
#include "store/open/raw_store.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

struct ListenerReport {
  std::string text;          // in the format that was asked for
  bool left_behind = false;  // a driver did not come back: end without destructors
};

namespace foreign = collect::foreign;

// Twelve ticks, two of them with the slow values.
constexpr Nanos kWatch{std::chrono::milliseconds(1200)};
// Longest time for a library to open, and for a driver to answer at the end.
constexpr Nanos kOpening{std::chrono::seconds(5)};
constexpr Nanos kEnding{std::chrono::seconds(2)};
constexpr Nanos kPoll{std::chrono::milliseconds(20)};
constexpr std::string_view kLatency = "corral.collector.latency";

void sleep_for(Nanos time) {
  const BootTime until = sys::boot_now() + time;
  while (!sys::system_clock().sleep_until(until)) {
  }
}

// Observations of one series.
struct Seen {
  std::size_t count = 0;
  double first = 0, last = 0, sum = 0;
  BootTime first_time, last_time;

  void add(BootTime time, double value) {
    if (count++ == 0) {
      first = value;
      first_time = time;
    }
    last = value;
    last_time = time;
    sum += value;
  }
  // Per second; nothing without two values.
  [[nodiscard]] std::optional<double> rate() const {
    if (count < 2 || last_time <= first_time) return std::nullopt;
    return (last - first) / seconds(last_time - first_time);
  }
};

struct Line {
  std::string part;
  std::string metric = {};
  std::string source = {};
  std::optional<double> value = {};
  std::string unit = {};
  std::optional<double> cost = {};  // seconds of one read
  std::string why = {};             // it is absent
};

class Report {
 public:
  void add(const Line& line) {
    const Cell cost = line.cost ? Cell{Json(std::round(*line.cost * 1e7) / 10),
                                       fmt::format("{:.1f} us", *line.cost * 1e6)}
                                : Cell{Json(), ""};
    const Cell value =
        line.value ? Cell{Json(*line.value), with_unit(*line.value, line.unit)} : Cell{Json(), ""};
    table_.add({plain(line.part),
                plain(line.metric),
                plain(line.source),
                {Json(line.why.empty()), line.why.empty() ? "yes" : "no"},
                value,
                {Json(line.unit), ""},
                cost,
                plain(line.why)});
  }
  [[nodiscard]] std::string print(const std::string& format) const { return table_.print(format); }

 private:
  Table table_{{{"listener", "LISTENER"},
                {"metric", "METRIC"},
                {"source", "SOURCE"},
                {"available", "AVAILABLE"},
                {"value", "VALUE", true},
                {"unit", ""},
                {"cost_us", "ONE READ", true},
                {"why", "WHY NOT"}}};
};

// A listener by itself, so that the measured cost is its own.
class Probe {
 public:
  static Result<Probe> start(const collect::ListenerEntry& entry, const std::string& library) {
    collect::SamplerOptions options;
    options.entries = {&entry};
    options.run_pid = ::getpid();
    options.perf = collect::PerfCounters::open(::getpid());
    options.library_path = library;
    options.lane = entry.name;
    options.open_late = entry.lane == collect::Lane::kDevice;
    Probe probe(entry);
    probe.sampler_ = TRY(collect::Sampler::open(std::move(options)));
    TRY(probe.sampler_->start());
    return probe;
  }

  [[nodiscard]] bool opened() const { return sampler_->opened(); }
  void ask_to_stop() { sampler_->ask_to_stop(); }

  // False: the driver did not come back.
  bool finish(BootTime deadline) { return came_back_ = sampler_->wait_stopped(deadline); }

  void report(Report& report) {
    const std::string part(entry_->name);
    if (!came_back_ || !sampler_->opened()) {
      report.add({.part = part, .why = "its driver does not answer"});
      return;
    }
    std::vector<std::vector<Seen>> seen;
    for (const int g : {collect::kFastGroup, collect::kSlowGroup, collect::kTimedGroup})
      seen.emplace_back(sampler_->series(g).size());
    sampler_->drain([&](const collect::RowView& row) {
      for (std::size_t c = 0; c < row.values.size(); ++c) {
        if (row.present[c] != 0)
          seen[static_cast<std::size_t>(row.group)][c].add(row.time, row.values[c]);
      }
    });
    sampler_->drain_timed([&](const collect::TimedPoint& point) {
      seen[collect::kTimedGroup][point.column].add(point.time, point.value);
    });
    for (const int g : {collect::kFastGroup, collect::kSlowGroup, collect::kTimedGroup})
      report_group(g, seen, report);
    for (const auto& [source, reason] : sampler_->unavailable())
      report.add({.part = part, .metric = source, .why = reason});
    for (const auto& problem : sampler_->take_problems())
      if (!problem.note) report.add({.part = part, .metric = problem.source, .why = problem.text});
  }

 private:
  explicit Probe(const collect::ListenerEntry& entry) : entry_(&entry) {}

  [[nodiscard]] std::optional<double> cost(int group,
                                           const std::vector<std::vector<Seen>>& seen) const {
    const auto series = sampler_->series(group);
    for (std::size_t c = 0; c < series.size(); ++c) {
      const Seen& values = seen[static_cast<std::size_t>(group)][c];
      if (series[c].metric->name == kLatency && values.count > 0)
        return values.sum / static_cast<double>(values.count);
    }
    return std::nullopt;
  }

  void report_group(int group, const std::vector<std::vector<Seen>>& seen, Report& report) const {
    // Samples with timestamps of their own are read with the slow ones.
    const auto took = cost(group == collect::kTimedGroup ? collect::kSlowGroup : group, seen);
    const auto series = sampler_->series(group);
    for (std::size_t c = 0; c < series.size(); ++c) {
      const metric::Metric& m = *series[c].metric;
      if (m.group == "collector") continue;
      const Seen& values = seen[static_cast<std::size_t>(group)][c];
      Line line{.part = std::string(entry_->name),
                .metric = std::string(m.name),
                .source = series[c].source,
                .unit = std::string(m.unit),
                .cost = took};
      if (m.kind == metric::Kind::kCounter && !m.rate_unit.empty()) {
        line.value = values.rate();
        line.unit = m.rate_unit;
      } else if (values.count > 0) {
        line.value = values.last;
      }
      if (values.count == 0) line.why = "no value came while this looked";
      report.add(line);
    }
  }

  const collect::ListenerEntry* entry_;
  std::unique_ptr<collect::Sampler> sampler_;
  bool came_back_ = true;
};

// One configured source by itself, so that its series are known for its own.
class SourceProbe {
 public:
  SourceProbe(std::string name, const foreign::Sources& one) : name_(std::move(name)) {
    auto opened = foreign::ForeignSources::open(
        one, {.directory = {}, .environment = sys::own_environment(), .queue = queue_.get()});
    const auto started = opened ? (*opened)->start(::getpid()) : tl::unexpected(opened.error());
    if (!started) {
      failure_ = started.error().message;
    } else {
      sources_ = std::move(*opened);
    }
    reads_output_ = !one.regex.empty();
    listens_ = !one.statsd.empty();
  }

  void report(Report& report) {
    if (sources_ != nullptr) sources_->stop(sys::boot_now() + kEnding);
    std::size_t lines = report_points(report);
    for (const foreign::Problem& problem :
         sources_ != nullptr ? sources_->problems() : std::vector<foreign::Problem>()) {
      if (problem.recovered) continue;
      report.add({.part = name_, .why = problem.message});
      ++lines;
    }
    if (!failure_.empty()) report.add({.part = name_, .why = failure_});
    if (lines > 0 || !failure_.empty()) return;
    if (reads_output_) {
      report.add({.part = name_, .metric = "(what its pattern finds in a run's output)"});
    } else if (listens_) {
      report.add({.part = name_,
                  .metric = "(what is sent to it)",
                  .source = sources_->statsd_address().value_or("")});
    } else {
      report.add({.part = name_, .why = "nothing came while this looked"});
    }
  }

 private:
  std::size_t report_points(Report& report) {
    const auto drained = queue_->drain();
    std::vector<Seen> seen(drained.series.size());
    for (const auto& point : drained.points) seen.at(point.series).add(point.time, point.value);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const foreign::ForeignSeries& series = drained.series[i];
      report.add({.part = name_,
                  .metric = series.name,
                  .source = series.source,
                  .value = seen[i].count > 0 ? std::optional(seen[i].last) : std::nullopt,
                  .unit = series.unit});
    }
    return seen.size();
  }

  std::string name_;
  std::unique_ptr<foreign::PointQueue> queue_ = std::make_unique<foreign::PointQueue>();
  std::unique_ptr<foreign::ForeignSources> sources_;
  std::string failure_;
  bool reads_output_ = false;
  bool listens_ = false;
};

template <auto Kind>
void probe_each(std::string_view prefix, const foreign::Sources& sources,
                std::vector<SourceProbe>& probes) {
  for (const auto& source : sources.*Kind) {
    foreign::Sources one;
    (one.*Kind).push_back(source);
    std::string name(prefix);
    if constexpr (requires { source.name; }) name += "." + source.name;
    probes.emplace_back(std::move(name), one);
  }
}

std::vector<SourceProbe> probe_sources(const foreign::Sources& sources) {
  std::vector<SourceProbe> probes;
  probe_each<&foreign::Sources::exec>("exec", sources, probes);
  probe_each<&foreign::Sources::prometheus>("prometheus", sources, probes);
  probe_each<&foreign::Sources::regex>("regex", sources, probes);
  probe_each<&foreign::Sources::statsd>("statsd", sources, probes);
  return probes;
}

// Reports whether the ports can be bound; each is released at once.
void report_otlp(const foreign::Sources& sources, Report& report) {
  for (const foreign::OtlpSource& source : sources.otlp) {
    foreign::PointQueue queue;
    run::OtlpSources one(std::span(&source, 1), queue);
    const std::string part = "otlp." + source.name;
    for (const foreign::Problem& problem : one.problems())
      report.add({.part = part, .why = problem.message});
    if (!one.url().empty())
      report.add({.part = part, .metric = "(what is sent to it)", .source = one.url()});
  }
}

void report_events(const foreign::Sources& sources, Report& report) {
  const collect::StallWatch watch(
      sources.pressure.empty() ? collect::StallOptions{} : sources.pressure.front(),
      {.run_pid = ::getpid()});
  for (const std::string& event : watch.watched()) report.add({.part = "events", .metric = event});
  for (const auto& [source, reason] : watch.unavailable())
    report.add({.part = "events", .metric = source, .why = reason});
}

// The metrics that each listener and configured source would record here, each with a value, the
// cost of a read, or the reason for its absence. Samples this process for about a second;
// configured commands are started and ended. `library`: NVIDIA's, in place of the system's; empty:
// the system's.
Result<ListenerReport> report_listeners(const foreign::Sources& sources, const std::string& library,
                                        const std::string& format) {
  std::vector<SourceProbe> foreign = probe_sources(sources);
  std::vector<Probe> probes;
  for (const collect::ListenerEntry& entry : collect::listeners())
    probes.push_back(TRY(Probe::start(entry, library)));
  const BootTime patience = sys::boot_now() + kOpening;
  while (!std::ranges::all_of(probes, &Probe::opened) && sys::boot_now() < patience)
    sleep_for(kPoll);
  sleep_for(kWatch);
  for (Probe& probe : probes) probe.ask_to_stop();
  const BootTime deadline = sys::boot_now() + kEnding;
  ListenerReport result;
  Report report;
  for (Probe& probe : probes) {
    if (!probe.finish(deadline)) result.left_behind = true;
    probe.report(report);
  }
  report_events(sources, report);
  for (SourceProbe& probe : foreign) probe.report(report);
  report_otlp(sources, report);
  result.text = report.print(format);
  return result;
}

constexpr const char* kDoctorExamples =
    "  corral doctor\n"
    "  corral doctor --listeners                    each metric, and why it is unavailable\n"
    "  corral doctor --format json\n";

// Adds a row: a part, its availability, and details or the reason.
void add_row(Table& table, const std::string& part, bool available, const std::string& detail) {
  table.add({plain(part), {Json(available), available ? "yes" : "no"}, plain(detail)});
}

void check_result(Table& table, const std::string& part, const Result<std::string>& result) {
  add_row(table, part, result.has_value(), result ? *result : result.error().message);
}

// Checks listeners that read the host's files; those of vendors' libraries have rows of their own.
void check_listeners(Table& table) {
  std::vector<std::string> names;
  for (const collect::ListenerEntry& entry : collect::listeners()) {
    if (entry.lane == collect::Lane::kHost) names.emplace_back(entry.name);
  }
  auto sampler = collect::Sampler::open(
      {.listeners = names, .run_pid = ::getpid(), .perf = collect::PerfCounters::open(::getpid())});
  if (!sampler) {
    add_row(table, "listeners", false, sampler.error().message);
    return;
  }
  std::size_t series = 0;
  for (int g = 0; g < collect::Sampler::group_count(); ++g) series += (*sampler)->series(g).size();
  add_row(table, "listeners", true, fmt::format("{}: {} series", join(names, ", "), series));
  for (const auto& missing : (*sampler)->unavailable())
    add_row(table, missing.source, false, missing.reason);
}

// Ends the process when a driver was left behind: its library's destructors might hang, too.
int print_listeners(const collect::foreign::Sources& sources, const std::string& format) {
  const auto report = report_listeners(sources, sys::own_variable("CORRAL_NVML_LIBRARY"), format);
  if (!report) {
    complain("doctor", report.error().message);
    return kMisuse;
  }
  fmt::print("{}", report->text);
  if (report->left_behind) {
    std::fflush(nullptr);
    std::_Exit(kDone);
  }
  return kDone;
}

Result<std::string> check_store(const spool::Destination& destination, const std::string& token) {
  if (!destination.server.empty()) {
    sys::HttpClient client({.base_url = destination.server,
                            .unix_socket = {},
                            .token = token,
                            .ca_file = destination.ca_file});
    const auto reply = TRY(client.send(
        {.path = "/api/corral/v1/version", .body = {}, .timeout = std::chrono::seconds(3)}));
    if (reply.status != 200) return tl::unexpected(reply_error(reply.status, reply.body));
    return sys::without_passwords(destination.server) + " answers";
  }
  if (!destination.database.empty()) {
    TRY(store::open_raw_postgres(destination.database, store::RawMode::kRead));
    return store_name(destination) + " answers";
  }
  const auto kind = TRY(sys::filesystem_of(destination.store));
  if (kind.network)
    return fail(Code::kUnsupported,
                fmt::format("{} is on {}, a network filesystem: use a local directory",
                            destination.store.string(), kind.name));
  std::error_code error;
  spool::fs::path existing = destination.store;
  while (!spool::fs::exists(existing, error) && existing.has_parent_path() &&
         existing != existing.parent_path())
    existing = existing.parent_path();
  if (::access(existing.c_str(), W_OK | X_OK) != 0)
    return fail(Code::kPermission, existing.string() + ": not writable");
  const auto space = spool::fs::space(existing, error);
  return fmt::format("{} on {}, {} free", destination.store.string(), kind.name,
                     human_bytes(static_cast<double>(space.available)));
}

Result<std::string> check_server(const spool::Destination& destination) {
  const auto found = sys::find_server(destination.store);
  if (!found)
    return fail(Code::kNotFound, "none runs now; `corral run` starts one, `corral serve` too");
  return fmt::format("{} (pid {})", found->url, found->pid);
}

Result<std::string> check_cgroup() {
  const auto text = TRY(sys::read_file("/proc/self/cgroup"));
  std::vector<std::string> controllers;
  for (const std::string_view line : split(trim(text), '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() >= 2)
      controllers.emplace_back(fields[1].empty() ? "v2" : std::string(fields[1]));
  }
  return "mounted: " + join(controllers, ", ");
}

Result<std::string> check_device(const char* file, const char* missing) {
  std::error_code error;
  if (!spool::fs::exists(file, error)) return fail(Code::kNotFound, missing);
  return std::string(file);
}

Result<std::string> check_python() {
  const auto python = TRY(sys::find_in_path(python_program(), sys::own_variable("PATH")));
  const auto version =
      sys::capture_output({.argv = {python.string(), "--version"}, .directory = {}, .idle = false});
  // It is there, though a loaded machine may be slow to start it.
  if (!version && version.error().code == Code::kUnavailable)
    return fmt::format("{}, version unknown: {}", python.string(), version.error().message);
  if (!version) return tl::unexpected(version.error());
  return fmt::format("{}, {}", python.string(), trim(*version));
}

Result<std::string> check_profiler(run::ProfileTool tool) {
  return TRY(run::find_profiler({.tool = tool}, sys::own_variable("PATH"), "/proc")).string();
}

void add_destination_rows(Table& table, const DestinationFlags& flags) {
  const auto destination = parse_destination(flags);
  if (!destination) {
    add_row(table, "store", false, destination.error().message);
  } else if (!destination->withheld.empty()) {
    add_row(table, "store", false, destination->withheld);
  } else {
    check_result(table, "store", check_store(*destination, read_token(flags).value_or("")));
    if (destination->server.empty()) check_result(table, "server", check_server(*destination));
  }
  const auto root = spool::usable_root(spool::spool_roots(flags.spool));
  check_result(table, "spool",
               root ? Result<std::string>(root->string()) : tl::unexpected(root.error()));
}

void add_machine_rows(Table& table) {
  check_result(table, "python", check_python());
  check_listeners(table);
  check_result(table, "pressure (PSI)",
               check_device("/proc/pressure/cpu", "the kernel was built or booted without PSI"));
  check_result(table, "cgroup", check_cgroup());
  check_result(table, "NVIDIA GPU",
               check_device("/dev/nvidiactl", "no /dev/nvidiactl: no NVIDIA driver is loaded"));
  check_result(table, "nsys", check_profiler(run::ProfileTool::kNsys));
  check_result(table, "ncu", check_profiler(run::ProfileTool::kNcu));
  check_result(table, "AMD GPU",
               check_device("/dev/kfd", "no /dev/kfd: no amdgpu compute driver is loaded"));
  check_result(table, "RAPL",
               check_device("/sys/class/powercap/intel-rapl:0",
                            "no /sys/class/powercap/intel-rapl:0: the CPU or the virtual machine "
                            "offers no energy counter"));
  for (const collocate::Offer& offer : collocate::offers("/"))
    add_row(table, offer.what, offer.there, offer.detail);
  const ClockAnchor anchor = sys::read_anchor();
  add_row(table, "clock", true, fmt::format("UTC is known to {} ns", anchor.error.count()));
}

}  // namespace

int doctor_command(std::span<char* const> args) {
  DestinationFlags flags;
  std::string format = "table";
  std::string dcgm_address;
  bool listeners = false;
  Arguments arguments("doctor",
                      "Reports what this machine can measure, and the reason where it cannot. "
                      "Changes nothing.",
                      kDoctorExamples);
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  arguments.flag("listeners", listeners,
                 "show each listener and source: value, cost, and why it is unavailable");
  arguments.text("dcgm-address", dcgm_address,
                 "DCGM host engine, HOST:PORT or socket path (default: localhost:5555)");
  arguments.as_flag_only("listeners");  // `corral run` has an option of this name
  collect::foreign::Sources sources;
  arguments.sources(sources);
  arguments.withholds(flags.withheld);
  add_destination(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  if (!dcgm_address.empty()) ::setenv("CORRAL_DCGM_ADDRESS", dcgm_address.c_str(), 1);
  if (listeners) return print_listeners(sources, format);
  Table table({{"part", "PART"}, {"available", "AVAILABLE"}, {"detail", "DETAIL"}});
  add_destination_rows(table, flags);
  add_machine_rows(table);
  fmt::print("{}", table.print(format));
  return kDone;
}

}  // namespace corral::cli
