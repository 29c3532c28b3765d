#include "run/record/profiling.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>

#include "core/json.h"
#include "core/text.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {
namespace {

namespace fs = spool::fs;

constexpr Nanos kReading{std::chrono::minutes(5)};  // longest time for reading a report
constexpr std::size_t kTableBytes = 256u << 20;
// The phase's ID in the supervisor's session; the other IDs are Supervision's.
constexpr std::uint64_t kPhase = 1;

std::string path_variable() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/bin:/bin";
}

// Runs a program with its output in a file; ends it when it takes too long or `give_up` is true.
Result<int> run_into(const std::vector<std::string>& argv, const sys::Fd& out,
                     const std::function<bool()>& give_up) {
  const sys::Fd null = TRY(sys::open_file("/dev/null", O_RDWR));
  sys::GatedChild child = TRY(sys::GatedChild::spawn({.argv = argv,
                                                      .environment = sys::own_environment(),
                                                      .directory = {},
                                                      .standard_input = null.get(),
                                                      .standard_output = out.get(),
                                                      .standard_error = out.get(),
                                                      .new_session = false,
                                                      .new_group = true}));
  TRY(child.release());
  const BootTime deadline = sys::boot_now() + kReading;
  int status = 0;
  while (::waitpid(child.pid(), &status, WNOHANG) == 0) {
    if (!give_up() && sys::boot_now() < deadline) continue;
    ::kill(-child.pid(), SIGKILL);
    ::waitpid(child.pid(), &status, 0);
    return fail(Code::kUnavailable, argv[0] + " was not waited for any longer");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns the last line of a program's output, for a message.
std::string last_line(const std::string& text) {
  const std::string_view all = trim(text);
  const std::size_t line = all.rfind('\n');
  return to_utf8(trim(all.substr(line == std::string_view::npos ? 0 : line + 1)).substr(0, 300));
}

}  // namespace

Result<Profiling> Profiling::prepare(const Options& options) {
  Profiling profiling(options);
  if (!options.profile) return profiling;
  auto program = find_profiler(*options.profile, path_variable(), "/proc");
  if (!program) {
    return tl::unexpected(program.error().with_context(
        fmt::format("--profile {}", profiler_name(options.profile->tool))));
  }
  profiling.program_ = std::move(*program);
  return profiling;
}

fs::path Profiling::report() const { return folder_->path() / "report"; }

std::string Profiling::steps() const {
  return options_.profile && folder_ ? profile_window(*options_.profile) : std::string();
}

void Profiling::join(const spool::RunDirectory& directory, Command& command) {
  run_files_ = directory.files();
  run_ = directory.manifest().run;
  host_ = directory.manifest().host;
  anchor_ = directory.manifest().anchor;
  const char* capture = std::getenv("CORRAL_CAPTURE");
  const bool seen = options_.capture && (capture == nullptr || std::string_view(capture) != "0");
  // The existence of the folder shows that steps are seen: `corral profile` may ask for some.
  if (seen || options_.watched > 0 || options_.profile) {
    auto made = run_files_->make_directory("profile");
    if (made) folder_ = *std::move(made);
  }
  if (!program_.empty() && folder_)
    command.argv = profiled_command(*options_.profile, program_, report(), command.argv);
}

void Profiling::begin(spool::Journal& journal, pid_t child) {
  began_ = sys::boot_now();
  if (!options_.profile || !folder_) return;
  const std::string id = profile_id(*options_.profile);
  journal.facts({{.kind = codec::FactKind::kTag, .key = "corral.profiler", .value = id}});
  if (has_window(options_.profile->tool)) return;  // the package reports the time of its window
  journal.bundle(codec::PhasesBody{
      {{.id = kPhase,
        .parent = 0,
        .begin = began_,
        .end = {},
        .kind = codec::PhaseKind::kControl,
        .name = "profiled",
        .type = "profiled",
        .lane = fmt::format("{}/{}/profiler", host_, child),
        .links = {},
        .attributes = {{"tool", std::string(profiler_name(options_.profile->tool))},
                       {"artifact", "profile/" + id}}}}});
  phase_open_ = true;
}

void Profiling::close_phase(spool::Journal& journal, BootTime ended) {
  if (!phase_open_) return;
  phase_open_ = false;
  codec::PhaseRecord record;
  record.id = kPhase;
  record.end = ended;
  journal.bundle(codec::PhasesBody{{record}});
}

// Returns the reason why a planned window never came.
std::optional<std::string> Profiling::missing() const {
  const ProfilePlan& plan = *options_.profile;
  if (!has_window(plan.tool) || folder_->exists(profile_id(plan))) return std::nullopt;
  return fmt::format(
      "no profile was taken: no Python process of the run began step {} (docs/profiling.md says "
      "what counts as a step)",
      plan.first);
}

// Returns the window of the steps that the package saw, or the whole run.
Result<ProfileWindow> Profiling::window() const {
  ProfileWindow window{.tool = std::string(profiler_name(options_.profile->tool)),
                       .steps = {},
                       .start_ns = anchor_.to_utc(began_).time_since_epoch().count(),
                       .end_ns = anchor_.to_utc(ended_).time_since_epoch().count()};
  if (!has_window(options_.profile->tool)) return window;
  const std::string text = TRY(folder_->read_file("window", 1u << 16));
  const Json json = TRY(Json::parse(text));
  const Json none;
  const Json* steps = json.find("steps");
  if (steps == nullptr) steps = &none;
  window.steps = {steps->get_int("first"), steps->get_int("last")};
  window.start_ns = json.get_int("start_ns");
  window.end_ns = json.get_int("end_ns");
  return window;
}

Result<> Profiling::keep(const std::string& file, const std::string& name) const {
  const sys::Fd data = TRY(folder_->open_file(file, O_RDONLY));
  return spool::keep_artifact(*run_files_, run_,
                              fmt::format("profile/{}/{}", profile_id(*options_.profile), name),
                              data.get());
}

// Reports had other names in older versions. The second table is optional.
Result<std::vector<DeviceTime>> Profiling::read_nsys(const std::string& report,
                                                     const std::function<bool()>& give_up) const {
  constexpr std::array<std::array<const char*, 2>, 2> kTables = {
      {{"cuda_gpu_kern_sum", "gpukernsum"}, {"cuda_gpu_mem_time_sum", "gpumemtimesum"}}};
  const std::string path = (folder_->path() / report).string();
  std::vector<DeviceTime> all;
  for (const auto& names : kTables) {
    Error error;
    for (const char* name : names) {
      const sys::Fd output = TRY(folder_->open_file("stats.txt", O_WRONLY | O_CREAT | O_TRUNC));
      const int status =
          TRY(run_into({program_.string(), "stats", "--report", name, "--format", "csv", "--output",
                        (folder_->path() / "stats").string(), path},
                       output, give_up));
      const auto csv = folder_->read_file(fmt::format("stats_{}.csv", name), kTableBytes);
      const auto times = parse_nsys_table(csv ? *csv : "");
      error = times
                  ? Error{.code = Code::kUnsupported, .message = last_line(read_text("stats.txt"))}
                  : times.error();
      if (status != 0 || !times || !csv) continue;
      all.insert(all.end(), times->begin(), times->end());
      error.message.clear();
      break;
    }
    const bool nothing = error.message.find("does not contain") != std::string::npos ||
                         error.message.find("SKIPPED") != std::string::npos;
    if (!error.message.empty() && !nothing && all.empty()) return tl::unexpected(error);
  }
  return all;
}

Result<std::vector<DeviceTime>> Profiling::read_report(const std::string& report,
                                                       const std::function<bool()>& give_up) const {
  const bool nsys = options_.profile->tool == ProfileTool::kNsys ||
                    options_.profile->tool == ProfileTool::kNsysRaw;
  if (nsys) return read_nsys(report, give_up);
  constexpr const char* kTable = "stats.csv";
  const sys::Fd table = TRY(folder_->open_file(kTable, O_WRONLY | O_CREAT | O_TRUNC));
  const int status = TRY(run_into({program_.string(), "--import",
                                   (folder_->path() / report).string(), "--csv", "--page", "raw"},
                                  table, give_up));
  if (status != 0) return fail(Code::kUnavailable, last_line(read_text(kTable)));
  return parse_ncu_table(TRY(folder_->read_file(kTable, kTableBytes)));
}

std::string Profiling::read_text(const std::string& file) const {
  return folder_->read_file(file, kTableBytes).value_or("");
}

// Removes the reports and tables; the artifacts are copies.
void Profiling::tidy() const {
  for (const std::string& name : folder_->list()) {
    if (name.starts_with("report.") || name.starts_with("stats")) folder_->remove_all(name);
  }
}

void Profiling::end(spool::Journal& journal, BootTime ended, Notices& notices,
                    const std::function<bool()>& give_up) {
  close_phase(journal, ended);
  if (!options_.profile || !folder_) return;
  ended_ = ended;
  const auto warn = [&](const std::string& line) {
    notices.warn(line);
    journal.event("profile: " + line, {});
  };
  if (const auto why = missing()) return warn(*why);
  if (program_.empty() || options_.profile->tool == ProfileTool::kNcuAttach) return;
  std::string file;
  for (const std::string_view ending : spool::kReportEndings) {
    const std::string written = "report" + std::string(ending);
    if (folder_->exists(written)) file = written;
  }
  const std::string tool(profiler_name(options_.profile->tool));
  if (file.empty()) return warn(tool + " left no report: what it said is in the run's output");
  const auto kept = keep(file, file);
  if (!kept)
    return warn(fmt::format("the report of {} is not kept: {}", tool, kept.error().message));
  notices.say(fmt::format("reading the report of {}; Ctrl-C leaves its summary out", tool));
  const Result<> summarised = [&]() -> Result<> {
    const auto times = TRY(read_report(file, give_up));
    constexpr const char* kSummary = "summary.json";
    const ProfileWindow seen = TRY(window());
    TRY(folder_->replace_file(kSummary, profile_summary(seen, times), false));
    return keep(kSummary, kSummary);
  }();
  tidy();
  if (!summarised)
    warn(fmt::format("the report of {} has no summary: {}", tool, summarised.error().message));
}

}  // namespace corral::run
