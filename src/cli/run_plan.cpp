#include "cli/run_plan.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "cli/answers.h"
#include "cli/command.h"
#include "collect/sampler/listeners.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig.h"
#include "collocate/undo.h"
#include "core/text.h"
#include "environment/environment.h"
#include "environment/tool.h"
#include "plan/params.h"
#include "plan/plan_file.h"
#include "run/profiler.h"
#include "run/schedule/launcher.h"
#include "run/schedule/plan_jobs.h"
#include "run/schedule/recovery.h"
#include "run/schedule/scheduler.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/private_directory.h"
#include "sys/process.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace nvidia = collocate::nvidia;

std::vector<plan::MigProfile> known_profiles(const nvidia::Control& control,
                                             const nvidia::Gpu& gpu) {
  std::vector<plan::MigProfile> all;
  const auto profiles = nvidia::read_profiles(control, gpu);
  if (!profiles) return all;  // the published ones, then
  for (const nvidia::Profile& profile : *profiles) {
    if (profile.placements.empty()) return {};  // the driver answers root alone
    plan::MigProfile known;
    known.name = profile.name;
    known.slices = static_cast<int>(profile.slices);
    known.most = static_cast<int>(profile.most);
    for (const nvidia::Placement& place : profile.placements) {
      known.placements.push_back(static_cast<int>(place.start));
      known.memory_slices = static_cast<int>(place.size);
    }
    all.push_back(std::move(known));
  }
  return all;
}

std::vector<plan::KnownDevice> devices_here() {
  std::vector<plan::KnownDevice> devices;
  const auto control = nvidia::Control::open(sys::own_variable("CORRAL_NVML_LIBRARY"));
  if (!control) return devices;
  const auto gpus = nvidia::find_gpus(**control);
  if (!gpus) return devices;
  for (const nvidia::Gpu& gpu : *gpus)
    devices.push_back({std::to_string(gpu.index), gpu.uuid, gpu.address, gpu.name,
                       known_profiles(**control, gpu)});
  return devices;
}

// That this process may use.
int cpus_here() {
  const long online = ::sysconf(_SC_NPROCESSORS_CONF);
  return online > 0 ? static_cast<int>(online) : 1;
}

}  // namespace

plan::Known known_here(bool devices) {
  plan::Known known;
  known.listener_problem = [](std::string_view word) {
    // radT has profilers among its listeners, and so has `corral run`.
    const auto split = run::split_profilers(word);
    if (split.first.empty() && !split.second.empty()) return std::string();
    const auto selected = collect::select_listeners(word);
    return selected ? std::string() : selected.error().message;
  };
  known.environment_problem = [](std::string_view text) {
    const auto spec = environment::parse(text);
    return spec ? std::string() : spec.error().message;
  };
  known.variable_problem = run_variable_problem;
  known.exists = [](const plan::fs::path& path) {
    std::error_code error;
    return plan::fs::exists(path, error);
  };
  known.executable = [](const plan::fs::path& path) {
    std::error_code error;
    return plan::fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  known.names_in = [](const plan::fs::path& path) { return sys::list_directory(path); };
  known.path = sys::own_variable("PATH");
  known.cpus = cpus_here();
  if (devices) known.devices = devices_here();
  return known;
}

namespace {

namespace schedule = run::schedule;
namespace fs = std::filesystem;

Result<schedule::QuietCheck> parse_quiet_check(const std::string& text) {
  using schedule::QuietCheck;
  if (text == "wait") return QuietCheck::kWait;
  if (text == "warn") return QuietCheck::kWarn;
  return text == "refuse" ? QuietCheck::kRefuse : QuietCheck::kOff;
}

Result<schedule::Selection> parse_selection(const PlanFlags& flags) {
  schedule::Selection selection{
      .rerun = flags.rerun, .only = flags.only, .skip = flags.skip, .shuffle = {}};
  if (!flags.shuffle.empty()) {
    const auto seed = parse_int(flags.shuffle);
    if (!seed || *seed < 0)
      return fail(Code::kInvalidArgument,
                  "--shuffle " + flags.shuffle + ": expected a seed, e.g. 7");
    selection.shuffle = static_cast<std::uint64_t>(*seed);
  }
  return selection;
}

constexpr int kMostBlocks = 1000;

Result<std::optional<schedule::Blocks>> parse_blocks(const PlanFlags& flags) {
  if (flags.until_interval.empty()) {
    for (const auto& [name, given] : {std::pair("--interval-of", &flags.interval_of),
                                      std::pair("--most-blocks", &flags.most_blocks)})
      if (!given->empty())
        return fail(Code::kInvalidArgument, fmt::format("{} needs --until-interval", name));
    return std::nullopt;
  }
  const auto width = parse_share(flags.until_interval);
  if (!width || !(*width > 0 && *width < 1))
    return fail(Code::kInvalidArgument,
                fmt::format("--until-interval {}: expected a share such as 2%",
                            printable(flags.until_interval)));
  schedule::Blocks blocks;
  if (flags.most_blocks.empty()) return blocks;
  const auto most = parse_int(flags.most_blocks);
  if (!most || *most < blocks.least || *most > kMostBlocks)
    return fail(Code::kInvalidArgument,
                fmt::format("--most-blocks {}: expected a number from {} to {}",
                            printable(flags.most_blocks), blocks.least, kMostBlocks));
  blocks.most = static_cast<int>(*most);
  return blocks;
}

// Facts and options that all runs of the plan share.
schedule::PlanFacts plan_facts(const PlanCommand& command, const fs::path& file) {
  const run::Options& o = command.options;
  schedule::PlanFacts facts{.id = plan::plan_id(sys::host_name(), file),
                            .file = file.filename().string(),
                            .directory = file.parent_path(),
                            .params = o.params,
                            .tags = o.tags,
                            .settings = command.settings};
  // The rule by which the plan stops is known before its first run.
  if (const PlanFlags& flags = command.flags; !flags.until_interval.empty())
    facts.tags.emplace_back(
        "corral.plan.until_interval",
        fmt::format("{} of {}, at most {} blocks", flags.until_interval,
                    flags.interval_of.empty() ? "step_time" : flags.interval_of,
                    flags.most_blocks.empty() ? std::to_string(schedule::Blocks().most)
                                              : flags.most_blocks));
  for (const auto& [name, value] : command.variables)
    facts.environment.push_back(fmt::format("{}={}", name, value));
  return facts;
}

Result<schedule::ScheduleOptions> schedule_options(const PlanCommand& command) {
  const run::Options& o = command.options;
  const PlanFlags& flags = command.flags;
  std::error_code error;
  const fs::path given = fs::absolute(o.command[0], error);
  if (!fs::exists(given, error))
    return fail(Code::kNotFound, o.command[0] + ": there is no such file");
  const fs::path file = given.lexically_normal();
  schedule::ScheduleOptions options;
  options.file = file;
  options.plan = plan_facts(command, file);
  options.state = collocate::default_state() / "plans" / options.plan.id;
  // Hosts that share a home directory share this lock.
  options.claim = collocate::default_state() / "claims" / plan::plan_id("", file);
  options.plan.ready = options.state / "ready";
  options.known = known_here();
  options.places = {.spool_roots = spool::spool_roots(o.spool),
                    .last_words = options.state / "ends"};
  options.selection = TRY(parse_selection(flags));
  options.blocks = TRY(parse_blocks(flags));
  options.take_over = flags.take_over;
  options.fail_fast = flags.fail_fast;
  options.dry_run = flags.dry_run;
  options.quiet = o.quiet;
  options.cool_down = flags.cool_down;
  options.quiet_check = TRY(parse_quiet_check(flags.quiet_check));
  options.nvml = o.device_library;
  options.notify = flags.notify;
  if (!flags.until.empty()) {
    options.until = schedule::parse_until(flags.until, sys::utc_now());
    if (!options.until)
      return fail(
          Code::kInvalidArgument,
          "--until " + flags.until + ": expected a time, e.g. 18:30, '2026-11-23 08:00' or 3h");
  }
  return options;
}

// The scheduler of the plan has chosen the workload, and keeps the file. The workload itself is
// judged by what it needs of this host.
Result<> become_part(schedule::ScheduleOptions& options, const fs::path& directory) {
  const auto folder = TRY(schedule::PartFolder::open(directory));
  options.part = TRY(folder.part());
  options.plan.id = options.part->plan;
  options.state = directory;
  options.claim.clear();
  options.plan.ready = directory / "ready";
  options.places.last_words = directory / "ends";
  options.notify.clear();
  options.until = options.part->until;  // a duration counts from the plan's start
  options.known.cpus = std::numeric_limits<int>::max();
  options.known.devices.reset();
  const std::string job = sys::own_variable("SLURM_JOB_ID");
  return job.empty() || !folder.id().empty() ? Result<>() : folder.note_id(job);
}

// The directory of a plan whose workloads run in jobs: the same on every login node.
fs::path state_of_jobs(const fs::path& file) {
  return collocate::default_state() / "plans" / plan::plan_id("", file);
}

Result<> check_no_jobs(const schedule::ScheduleOptions& options) {
  if (options.take_over || options.dry_run ||
      !schedule::has_open_parts(state_of_jobs(options.file)))
    return {};
  return fail(
      Code::kUnavailable,
      fmt::format("{} is under way in jobs of Slurm: --slurm follows them; --take-over runs "
                  "it here all the same",
                  options.plan.file));
}

// Rows are judged by the nodes of the jobs.
Result<> keep_for_jobs(schedule::ScheduleOptions& options, const PlanCommand& command) {
  const PlanFlags& flags = command.flags;
  for (const auto& [name, given] : {std::pair("--until-interval", !flags.until_interval.empty()),
                                    std::pair("--quiet-check", flags.quiet_check != "off"),
                                    std::pair("--cool-down", flags.cool_down > Nanos(0)),
                                    std::pair("--fail-fast", flags.fail_fast)})
    if (given) return fail(Code::kInvalidArgument, fmt::format("--slurm goes without {}", name));
  const spool::Destination& destination = command.options.destination;
  if (destination.server.empty() && destination.database.empty())
    return fail(Code::kInvalidArgument,
                "--slurm needs a server that the nodes reach: --server URL, or CORRAL_SERVER");
  options.plan.id = plan::plan_id("", options.file);
  options.state = state_of_jobs(options.file);
  options.plan.ready = options.state / "ready";
  options.places.last_words = options.state / "ends";
  options.known.cpus = std::numeric_limits<int>::max();
  options.known.devices.reset();
  return {};
}

// Options that Corral sets itself, and those that make one submission several jobs or none.
Result<> check_sbatch_options(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 17> kOwn = {
      "-J", "--job-name", "-o", "--output", "-D",         "--chdir",
      "-M", "--clusters", "-a", "--array",  "-W",         "--wait",
      ":",  "--parsable", "-Q", "--wrap",   "--test-only"};
  for (const std::string& word : words) {
    const bool is_long = word.starts_with("--");
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    // sbatch takes "--arr" for "--array".
    const auto names = [&](std::string_view own) {
      return name == own || (is_long && own.starts_with(name));
    };
    if (std::ranges::any_of(kOwn, names))
      return fail(Code::kInvalidArgument,
                  fmt::format("--slurm: leave out {}: each workload is one job, which Corral names "
                              "and reads",
                              printable(name)));
  }
  return {};
}

// Slurm keeps the script where others may read it.
Result<> check_no_password(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t value = word.starts_with("-") ? word.find('=') + 1 : 0;
    if (sys::is_database_url(word.substr(value)) && !sys::passwords_in(word).empty())
      return fail(Code::kInvalidArgument,
                  "--slurm: a password on the command line would stand in the script of each job: "
                  "give the database as CORRAL_STORE");
  }
  return {};
}

Result<schedule::JobOptions> job_options(const PlanCommand& command, const fs::path& state) {
  const auto options = plan::shell_words(command.flags.slurm);
  if (!options)
    return fail(Code::kInvalidArgument,
                "--slurm: a quote is not closed: " + printable(command.flags.slurm));
  TRY(check_sbatch_options(*options));
  TRY(check_no_password(command.words));
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i];
    if (word == "--slurm") ++i;
    if (word != "--slurm" && !word.starts_with("--slurm=")) rest.push_back(word);
  }
  // The job may not get this environment (--export=NONE).
  std::string exports;
  for (const auto& [name, value] : command.variables)
    if (!sys::is_database_url(value) || sys::passwords_in(value).empty())
      exports +=
          fmt::format("export {}\n", schedule::shell_words({fmt::format("{}={}", name, value)}));
  const auto kind = sys::filesystem_of(state);
  // Hosts of a network filesystem look again after up to a minute.
  const bool shared = !kind || kind->network;
  return schedule::JobOptions{
      .script =
          [program = command.options.program, rest, exports](const fs::path& part) {
            std::vector<std::string> all = {program.string(), "run", "--slurm-part", part.string()};
            all.insert(all.end(), rest.begin(), rest.end());
            return fmt::format("#!/bin/sh\n{}exec {}\n", exports, schedule::shell_words(all));
          },
      .directory = fs::current_path(),
      .options = *options,
      .lag = shared ? Nanos(std::chrono::seconds(90)) : Nanos(std::chrono::seconds(4))};
}

void set_server(schedule::ScheduleOptions& options, const run::Options& o) {
  upload::LinkOptions link{.destination = o.destination,
                           .token = o.token,
                           .serve_command = {},
                           .environment = {},
                           .server_log = options.state / "server.log"};
  upload::start_when_needed(link, o.program.string(), o.spool.string());
  options.server = std::move(link);
}

// Prepares each environment of the workload once; an existing one is only checked.
Result<> prepare_environments(const fs::path& directory, const plan::Workload& workload,
                              const std::function<void(const std::string&)>& say,
                              const std::function<bool()>& cancelled) {
  std::set<std::string> done;
  for (const plan::Row& row : workload.rows) {
    if (row.environment.empty() || !done.insert(row.environment).second) continue;
    const auto spec = TRY(environment::parse(row.environment));
    const auto prepared = environment::prepare(
        spec, {.directory = directory,
               .cache = environment::default_cache(),
               .progress = [&](std::string_view line) { say(std::string(line)); },
               .cancelled = cancelled});
    if (!prepared)
      return tl::unexpected(prepared.error().with_context(
          "environment " + environment::without_credentials(row.environment)));
  }
  return {};
}

// A container's tool leaves its run's group a moment after the run has ended.
constexpr Nanos kLeavePatience{std::chrono::seconds(2)};
constexpr Nanos kPoll{std::chrono::milliseconds(50)};

void undo_leftovers(const run::Options& o, const std::function<void(const std::string&)>& warn) {
  using collocate::UndoState;
  collocate::UndoReport report;
  bool waits = true;
  for (const BootTime deadline = sys::boot_now() + kLeavePatience; waits;) {
    report = collocate::undo_all({.state = collocate::default_state(),
                                  .nvml = o.device_library,
                                  .mps_control = sys::own_variable("CORRAL_MPS_CONTROL"),
                                  .commands_of = schedule::commands_of});
    for (const collocate::UndoLine& line : report.lines)
      if (line.state == UndoState::kPutBack) warn("put back: " + line.words);
    waits = std::ranges::any_of(
                report.lines,
                [](const collocate::UndoLine& line) { return line.state == UndoState::kInUse; }) &&
            sys::boot_now() < deadline;
    if (waits) sys::system_clock().sleep_until(sys::boot_now() + kPoll);
  }
  for (const collocate::UndoLine& line : report.lines) {
    if (line.state == UndoState::kInUse || line.state == UndoState::kFailed)
      warn("not put back: " + line.words + ": " + line.reason);
  }
  if (report.permissions > 0) warn(collocate::permission_advice(collocate::default_state()));
}

Result<int> run_plan_checked(const PlanCommand& command) {
  const run::Options& o = command.options;
  if (o.watched > 0)
    return fail(Code::kInvalidArgument, "--watch samples one process; an experiment file has many");
  schedule::ScheduleOptions options = TRY(schedule_options(command));
  const fs::path part = command.flags.slurm_part;
  const bool in_jobs = !command.flags.slurm.empty();
  if (!part.empty()) TRY(become_part(options, part));
  if (in_jobs) TRY(keep_for_jobs(options, command));
  if (!in_jobs && part.empty()) TRY(check_no_jobs(options));
  if (!options.dry_run) {
    set_server(options, o);
    TRY(sys::PrivateDirectory::make(options.places.last_words));
  }
  // First: it blocks the signals for the threads that come after it.
  const auto launcher = schedule::supervisor_launcher(
      {.program = o.program, .last_words = options.places.last_words});
  const auto machine =
      schedule::this_machine({.state = collocate::default_state(),
                              .directory = options.plan.directory,
                              .plan = options.state,
                              .spool = options.places.spool_roots,
                              .nvml = o.device_library,
                              .mps_control = sys::own_variable("CORRAL_MPS_CONTROL"),
                              .holder = options.plan.file,
                              .cancelled = {}});
  std::optional<schedule::RecordedEnds> recorded;
  std::optional<schedule::PrecisionQuestion> precision;
  if (options.server) {
    recorded.emplace(*options.server);
    const std::string& value = command.flags.interval_of;
    precision.emplace(
        *options.server,
        schedule::PrecisionGoal{.half_width = parse_share(command.flags.until_interval).value_or(0),
                                .value = value.empty() ? "step_time" : value});
  }
  const schedule::ScheduleParts parts{
      .launcher = *launcher,
      .machine = *machine,
      .prepare =
          [&](const auto& workload, const auto& say, const auto& cancelled) {
            return prepare_environments(options.plan.directory, workload, say, cancelled);
          },
      .recorded_end = [&](const std::string& run) -> std::optional<schedule::End> {
        return recorded ? recorded->find(run) : std::nullopt;
      },
      .precision =
          [&](const auto& workloads) {
            return precision ? precision->ask(workloads) : schedule::Precision();
          },
      .undo = [&](const auto& warn) { undo_leftovers(o, warn); }};
  if (in_jobs) {
    const schedule::JobOptions jobs = TRY(job_options(command, options.state));
    return schedule::run_in_jobs(options, parts, *schedule::slurm_queue(), jobs);
  }
  return schedule::run_schedule(options, parts);
}

}  // namespace

bool is_plan_file(std::string_view word) {
  return word.ends_with(".csv") || word.ends_with(".yaml") || word.ends_with(".yml");
}

void declare_plan(Arguments& a, PlanFlags& f) {
  a.group("Experiment files");
  a.flag("rerun", f.rerun, "run failed runs again");
  a.flag("dry-run", f.dry_run, "print what would be run and changed on this machine, and exit");
  a.texts("only", f.only,
          "run only this workload or experiment/workload (* and ?); may be repeated");
  a.texts("skip", f.skip, "skip this workload or experiment/workload; may be repeated");
  a.text("shuffle", f.shuffle, "run workloads in a random order, by this seed");
  a.text("until", f.until, "start no workload after 18:30, '2026-11-23 08:00' or 3h from now");
  a.text("until-interval", f.until_interval,
         "repeat the plan until its comparisons are so precise, e.g. 2%");
  a.text("interval-of", f.interval_of, "of this value: step_time, duration or a metric");
  a.text("most-blocks", f.most_blocks, "repeat at most so often (default: 50; at least 10)");
  a.text("slurm", f.slurm, "run each workload in a job of Slurm, with these options of sbatch");
  a.never_empty("slurm");
  a.text("slurm-part", f.slurm_part, "in such a job: the directory that tells what it runs");
  a.hidden("slurm-part");
  a.flag("fail-fast", f.fail_fast, "start no workload after a run has failed");
  a.flag("take-over", f.take_over, "also run rows whose Status names another host");
  for (const char* name :
       {"rerun", "dry-run", "only", "skip", "shuffle", "until", "until-interval", "interval-of",
        "most-blocks", "slurm", "slurm-part", "fail-fast", "take-over"})
    a.as_flag_only(name);
  a.duration("cool-down", f.cool_down, "pause between two workloads");
  a.choice("quiet-check", f.quiet_check, {"off", "wait", "warn", "refuse"},
           "if the machine is busy: off, wait, warn or refuse (default: off)");
  a.text("notify", f.notify, "command or URL that receives failures and the end as JSON");
}

int run_plan(const PlanCommand& command) {
  const auto status = run_plan_checked(command);
  return status ? *status : report("run", status.error());
}

}  // namespace corral::cli
