#include "cli/bench_stage.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/bench_training.h"
#include "cli/destination.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kStarting{std::chrono::seconds(60)};  // importing MLflow can take long
constexpr Nanos kEnding{std::chrono::seconds(5)};
constexpr Nanos kIdleFor{std::chrono::milliseconds(100)};
constexpr double kIdleShare = 0.02;

bool tells_where_to_record(std::string_view variable) {
  constexpr std::array<std::string_view, 3> kKept = {
      "CORRAL_CONFIG=", "CORRAL_NVML_LIBRARY=", "CORRAL_PYTHON="};
  const auto begins = [&](std::string_view kept) { return variable.starts_with(kept); };
  return variable.starts_with("CORRAL_") && std::ranges::none_of(kKept, begins);
}

// The last processor that this process may run on: the first ones serve interrupts.
int last_processor() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return -1;
  for (int n = CPU_SETSIZE - 1; n >= 0; --n) {
    if (CPU_ISSET(static_cast<std::size_t>(n), &set)) return n;
  }
  return -1;
}

// Waits until the file has something in it; false when the process was quicker to end, or the time
// is over.
bool wait_for_output(const fs::path& file, pid_t pid, Interrupts& interrupts) {
  const BootTime deadline = sys::boot_now() + kStarting;
  std::error_code error;
  while (sys::boot_now() < deadline) {
    if (fs::file_size(file, error) > 0 && !error) return true;
    const auto identity = sys::identity_of(pid);
    if (!identity || !sys::is_alive(*identity)) return false;
    if (interrupts.wait(std::chrono::milliseconds(20))) return false;
  }
  return false;
}

}  // namespace

Stage::Stage(fs::path directory) : directory_(std::move(directory)) {
  environment_ = sys::own_environment();
  std::erase_if(environment_, tells_where_to_record);
  environment_.push_back("CORRAL_BENCH_DIRECTORY=" + directory_.string());
}

Result<Stage> Stage::open() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "corral-overhead-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return fail_errno(name, errno);
  return Stage(name);
}

Stage::~Stage() {
  if (directory_.empty()) return;  // moved from
  server_.reset();
  std::error_code error;
  fs::remove_all(directory_, error);
}

Result<Child> Stage::start(std::vector<std::string> argv, int processor) {
  return Child::start({.argv = std::move(argv),
                       .environment = environment_,
                       .output = {},
                       .error_output = file("run.err"),
                       .processor = processor});
}

Result<> Stage::serve(Interrupts& interrupts) {
  if (server_) return {};
  const fs::path said = file("server.out");
  server_.emplace(
      TRY(Child::start({.argv = {program_path().string(), "serve", "--store", file("store"),
                                 "--spool", file("spool"), "--listen", "127.0.0.1:0"},
                        .environment = environment_,
                        .output = said,
                        .error_output = file("server.err")})));
  if (wait_for_output(said, server_->pid(), interrupts)) return {};
  if (interrupts.asked()) return fail(Code::kUnavailable, "interrupted");
  return fail(Code::kUnavailable,
              "the store's server did not start: " +
                  sys::read_file(file("server.err")).value_or("it printed nothing"));
}

ChildEnd Stage::settle(Interrupts& interrupts) {
  ChildEnd so_far;
  if (!server_) return so_far;
  const BootTime deadline = sys::boot_now() + kEnding;
  double before = server_->cpu_s();
  for (;;) {
    const BootTime from = sys::boot_now();
    const bool asked = interrupts.wait(kIdleFor);
    so_far.cpu_s = server_->cpu_s();
    const double share = (so_far.cpu_s - before) / seconds(sys::boot_now() - from);
    if (asked || share < kIdleShare || sys::boot_now() > deadline) break;
    before = so_far.cpu_s;
  }
  so_far.written_bytes = server_->written_bytes();
  return so_far;
}

Result<OneRun> Stage::run(const Setting& setting, bool on, const std::vector<std::string>& training,
                          Interrupts& interrupts) {
  std::error_code error;
  for (const char* name : {"run.json", "run.json.steps", "run.err", "tool.out"})
    fs::remove(file(name), error);
  const Job job{
      .setting = setting, .argv = measured(file("run.json"), training), .interrupts = interrupts};
  const int processor = setting.kind == Setting::Kind::kPlanted ? last_processor() : -1;
  if (!on || setting.kind == Setting::Kind::kOff) return alone(job, processor);
  if (setting.kind == Setting::Kind::kCorral) return within(job, corral_run(setting));
  if (setting.kind == Setting::Kind::kAround) return within(job, setting.words);
  return beside(job);
}

// Waits for the process that runs the training, and reads its measurements.
Result<ChildEnd> Stage::finish(Child& child, Interrupts& interrupts, OneRun& run) {
  const ChildEnd end = TRY(child.wait(interrupts));
  if (end.status != 0) return tl::unexpected(ended_badly(end.status, file("run.err")));
  run.training = TRY(read_measurement(file("run.json")));
  return end;
}

Result<OneRun> Stage::alone(const Job& job, int processor) {
  OneRun run{.began = sys::utc_now(), .training = {}};
  const BootTime began = sys::boot_now();
  Child child = TRY(start(job.argv, processor));
  TRY(finish(child, job.interrupts, run));
  run.whole_s = seconds(sys::boot_now() - began);
  return run;
}

std::vector<std::string> Stage::corral_run(const Setting& setting) const {
  std::vector<std::string> argv = {
      program_path().string(), "run",    "--quiet",   "--store", file("store"), "--spool",
      file("spool"),           "--name", setting.name};
  argv.insert(argv.end(), setting.words.begin(), setting.words.end());
  argv.emplace_back("--");
  return argv;
}

Result<OneRun> Stage::within(const Job& job, std::vector<std::string> argv) {
  const bool ours = job.setting.kind == Setting::Kind::kCorral;
  const ChildEnd before = ours ? settle(job.interrupts) : ChildEnd();
  OneRun run{.began = sys::utc_now(), .training = {}};
  const BootTime began = sys::boot_now();
  argv.insert(argv.end(), job.argv.begin(), job.argv.end());
  Child child = TRY(start(std::move(argv)));
  const ChildEnd end = TRY(finish(child, job.interrupts, run));
  run.whole_s = seconds(sys::boot_now() - began);
  const ChildEnd after = ours ? settle(job.interrupts) : ChildEnd();
  run.collecting_cpu_s =
      end.cpu_s - run.training.cpu_s - run.training.own_cpu_s + after.cpu_s - before.cpu_s;
  run.collecting_peak_bytes = end.peak_bytes;
  run.collecting_written_bytes =
      end.written_bytes - run.training.written_bytes + after.written_bytes - before.written_bytes;
  return run;
}

Result<Child> Stage::start_tool(const Setting& setting, int processor, Interrupts& interrupts) {
  const fs::path said = file("tool.out");
  Child tool = TRY(Child::start({.argv = setting.words,
                                 .environment = environment_,
                                 .output = said,
                                 .error_output = file("run.err"),
                                 .processor = processor}));
  if (setting.planted > 0 || wait_for_output(said, tool.pid(), interrupts)) return tool;
  if (interrupts.asked()) return fail(Code::kUnavailable, "interrupted");
  const std::string text = sys::read_file(file("run.err")).value_or("");
  return fail(Code::kNotFound,
              fmt::format("{} does not start: {}", setting.name, text.substr(0, text.find('\n'))));
}

Result<OneRun> Stage::beside(const Job& job) {
  const int processor = job.setting.planted > 0 ? last_processor() : -1;
  Child tool = TRY(start_tool(job.setting, processor, job.interrupts));
  const double cpu_before = tool.cpu_s();
  const std::int64_t written_before = tool.written_bytes();
  OneRun run = TRY(alone(job, processor));
  run.collecting_cpu_s = tool.cpu_s() - cpu_before;
  const std::int64_t written = tool.written_bytes();
  const ChildEnd end = TRY(tool.stop(job.interrupts, kEnding));
  run.collecting_peak_bytes = end.peak_bytes;
  run.collecting_written_bytes = written - written_before;
  return run;
}

}  // namespace corral::cli
