#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/doctor_listeners.h"
#include "cli/table.h"
#include "collect/sampler/listeners.h"
#include "collect/sampler/sampler.h"
#include "collocate/offers.h"
#include "core/text.h"
#include "run/profiler.h"
#include "store/open/raw_store.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

constexpr const char* kExamples =
    "  corral doctor\n"
    "  corral doctor --listeners                    each metric, and why it is unavailable\n"
    "  corral doctor --format json\n";

// Adds a row: a part, its availability, and details or the reason.
void row(Table& table, const std::string& part, bool available, const std::string& detail) {
  table.add({plain(part), {Json(available), available ? "yes" : "no"}, plain(detail)});
}

void check_result(Table& table, const std::string& part, const Result<std::string>& result) {
  row(table, part, result.has_value(), result ? *result : result.error().message);
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
    row(table, "listeners", false, sampler.error().message);
    return;
  }
  std::size_t series = 0;
  for (int g = 0; g < collect::Sampler::group_count(); ++g) series += (*sampler)->series(g).size();
  row(table, "listeners", true, fmt::format("{}: {} series", join(names, ", "), series));
  for (const auto& missing : (*sampler)->unavailable())
    row(table, missing.source, false, missing.reason);
}

// Ends the process when a driver was left behind: its library's destructors might hang, too.
int print_listeners(const collect::foreign::Sources& sources, const std::string& format) {
  const auto report = [&]() -> Result<ListenerReport> {
    const char* library = std::getenv("CORRAL_NVML_LIBRARY");
    return report_listeners(sources, library != nullptr ? library : "", format);
  }();
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
    sys::HttpClient client({.base_url = destination.server, .unix_socket = {}, .token = token});
    const auto reply = TRY(client.send(
        {.path = "/api/corral/v1/version", .body = {}, .timeout = std::chrono::seconds(3)}));
    if (reply.status != 200) return tl::unexpected(error_of_reply(reply.status, reply.body));
    return destination.server + " answers";
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
  const char* chosen = std::getenv("CORRAL_PYTHON");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  const char* path = std::getenv("PATH");
  const auto python = TRY(sys::find_in_path(name, path != nullptr ? path : ""));
  const auto version =
      sys::capture_output({.argv = {python.string(), "--version"}, .directory = {}, .idle = false});
  // It is there, though a loaded machine may be slow to start it.
  if (!version && version.error().code == Code::kUnavailable)
    return fmt::format("{}, version unknown: {}", python.string(), version.error().message);
  if (!version) return tl::unexpected(version.error());
  return fmt::format("{}, {}", python.string(), trim(*version));
}

Result<std::string> check_profiler(run::ProfileTool tool) {
  const char* path = std::getenv("PATH");
  return TRY(run::find_profiler({.tool = tool}, path != nullptr ? path : "", "/proc")).string();
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
                      kExamples);
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
  const auto destination = destination_of(flags);
  if (!destination) {
    row(table, "store", false, destination.error().message);
  } else if (!destination->withheld.empty()) {
    row(table, "store", false, destination->withheld);
  } else {
    check_result(table, "store", check_store(*destination, token_of(flags).value_or("")));
    if (destination->server.empty()) check_result(table, "server", check_server(*destination));
  }
  const auto root = spool::usable_root(spool::spool_roots(flags.spool));
  check_result(table, "spool",
               root ? Result<std::string>(root->string()) : tl::unexpected(root.error()));
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
    row(table, offer.what, offer.there, offer.detail);
  const ClockAnchor anchor = sys::read_anchor();
  row(table, "clock", true, fmt::format("UTC is known to {} ns", anchor.error.count()));
  fmt::print("{}", table.print(format));
  return kDone;
}

}  // namespace corral::cli
