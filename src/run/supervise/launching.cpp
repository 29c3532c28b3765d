// Supervision, until the command runs.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>

#include "collocate/cpu_list.h"
#include "core/text.h"
#include "run/command.h"
#include "run/record/ranks_elsewhere.h"
#include "run/supervise/lifeline.h"
#include "run/supervise/supervision.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// A scheduler that is gone before the start.
constexpr int kGaveUp = 125;

// Phases of the supervisor's session; 5 is the delivery's.
constexpr std::uint64_t kPreparationPhase = 2;
constexpr std::uint64_t kGatePhase = 3;
constexpr std::uint64_t kContainerPhase = 4;

// As environment::Inside takes the groups.
std::string group_words(const Placement& placement) {
  std::string words;
  for (const auto& group : placement.groups) words += (words.empty() ? "" : ":") + group.string();
  return words;
}

}  // namespace

Supervision::Supervision(const Options& options, const InPlace& in_place, std::string lacking)
    : options_(options),
      in_place_(in_place),
      lacking_(std::move(lacking)),
      notices_(options.quiet),
      stopper_(options.grace),
      gate_(options.gate),
      made_(sys::boot_now()) {}

int Supervision::run() {
  try {
    auto command = prepare();
    if (!command) return refuse(command.error());
    // A process that only waits would take one from a command that has few.
    const bool ends_it = options_.max_time || options_.leftovers == Leftovers::kWait;
    if (!lacking_.empty() && in_place_.possible() && !ends_it) return in_place_.execute(lacking_);
    if (lacking_.empty()) begin_accounting();
    record(*command);
    if (const int status = start(*command); status != 0) {
      accounting_.discard();
      return status;
    }
    if (!sys::guard_call("the start of the recording", [&] { started(*command); }) &&
        recording_ != nullptr)
      recording_->begin();
  } catch (const std::bad_alloc&) {
    return replace("no memory is left");
  } catch (const std::exception& e) {
    return replace(e.what());
  }
  return attend();
}

// What takes time and what may be missing, before anything of the run is there.
Result<Command> Supervision::prepare() {
  int interrupt = 0;
  const auto cancelled = [&] {
    const int signal = signals_.next(sys::boot_now());
    if (signal == SIGINT || signal == SIGTERM || signal == SIGQUIT) interrupt = signal;
    return interrupt != 0;
  };
  setting_ = TRY(Setting::prepare(options_, notices_, cancelled));
  Command command = TRY(setting_.resolve(options_));
  profiling_.emplace(TRY(Profiling::prepare(options_)));
  return command;
}

// Of one's own, where no scheduler has decided and no container brings one.
void Supervision::begin_accounting() {
  groups_ = options_.placement.groups;
  if (groups_.empty() && options_.watched == 0 && !setting_.is_apart())
    accounting_.begin(options_.run_id->hex());
}

void Supervision::record(Command& command) {
  if (!lacking_.empty()) return say_not_recorded(lacking_);
  const auto open = [&]() -> Result<> {
    if (options_.pty && options_.watched == 0) terminal_ = Terminal::open();
    recording_ = TRY(Recording::open(options_, notices_, terminal_ != nullptr));
    recording_->on_spooler(lifeline::passes_on);
    profiling_->join(recording_->directory(), command);
    return {};
  };
  Result<> opened;
  try {
    opened = open();
  } catch (const std::exception& e) {
    opened = fail(Code::kUnavailable, e.what());
  }
  if (opened) return;
  if (recording_ != nullptr) recording_->discard();
  recording_.reset();
  terminal_.reset();
  say_not_recorded(printable(opened.error().message));
}

// Nothing was started: the exit status is a shell's.
int Supervision::refuse(const Error& error) {
  notices_.warn(error.message);
  const int status = error.code == Code::kNotFound ? kNotFound : kNotExecutable;
  return abandon({.kind = OutcomeKind::kNotStarted, .reason = error.message, .exit_code = status},
                 status);
}

// The command takes this process's place, for want of what starting it as a child needs.
int Supervision::replace(const std::string& reason) {
  if (!in_place_.possible()) return refuse({.code = Code::kUnavailable, .message = reason});
  sys::guard_call("the supervisor", [&] {
    gated_.reset();  // which ends the child
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    accounting_.discard();
    if (recording_ != nullptr) recording_->discard();
    recording_.reset();
    terminal_.reset();
  });
  return in_place_.execute(printable(reason));
}

int Supervision::abandon(const Outcome& outcome, int status) {
  setting_.end();
  if (recording_ != nullptr) recording_->discard();
  gate_.ended(outcome);
  return status;
}

std::vector<std::string> Supervision::environment_of_command() const {
  std::vector<std::string> inherited = setting_.inherited();
  if (recording_ == nullptr) return inherited;
  return child_environment({.run_id = recording_->run().hex(),
                            .segments = recording_->directory().segments().string(),
                            .spool_limit = options_.spool_limit / 2,
                            .python_path = options_.python_path.string(),
                            .tracking_uri = recording_->tracking_uri(),
                            .statsd = recording_->statsd_address(),
                            .otlp = recording_->otlp_url(),
                            .capture = options_.capture,
                            .max_epochs = options_.max_epochs,
                            .max_steps = options_.max_steps,
                            .profile_steps = profiling_->steps()},
                           inherited);
}

Result<Setting::Start> Supervision::set_scene(const Command& command,
                                              std::vector<std::string> environment) {
  if (setting_.in_container() && recording_ == nullptr)
    return fail(Code::kUnavailable, "a container is only started for a run that is recorded");
  return setting_.start(
      command, {.spool = recording_ != nullptr ? recording_->directory().path() : sys::fs::path(),
                .python_package = options_.python_path,
                .working_directory = start_folder(options_),
                .cgroup_parent = group_words(options_.placement),
                .environment = std::move(environment),
                .chosen = options_.passed,
                .devices = {},
                .cpus = collocate::format_cpus(options_.placement.cpus),
                .terminal = terminal_ != nullptr});
}

Result<> Supervision::spawn(Setting::Start scene, std::vector<std::string> environment) {
  first_ = scene.first;
  sys::Fd out;
  sys::Fd err;
  const int slave = terminal_ != nullptr ? terminal_->slave() : -1;
  if (recording_ != nullptr && slave < 0) {
    out = TRY(recording_->relay().standard_output());
    err = TRY(recording_->relay().standard_error());
  }
  gated_ = TRY(sys::GatedChild::spawn({.argv = std::move(scene.argv),
                                       .environment = std::move(environment),
                                       .directory = options_.directory,
                                       .standard_input = slave >= 0 ? slave : STDIN_FILENO,
                                       .standard_output = slave >= 0 ? slave
                                                          : out      ? out.get()
                                                                     : STDOUT_FILENO,
                                       .standard_error = slave >= 0 ? slave
                                                         : err      ? err.get()
                                                                    : STDERR_FILENO,
                                       .new_session = true,
                                       .own_terminal = slave >= 0,
                                       .inherits_signals = true}));
  child_ = gated_->pid();
  return {};
}

// From here on somebody reads what the command prints at its terminal.
Result<> Supervision::hold_terminal() {
  if (terminal_ == nullptr) return {};
  signals_.add_terminal();
  return terminal_->hold(child_, TRY(recording_->relay().standard_output()));
}

// Everything that looks at the run is opened; before its exec, where that can be.
void Supervision::observe(pid_t process) {
  host_oom_kills_ = host_oom_kills();
  const pid_t pid = options_.watched > 0 ? static_cast<pid_t>(options_.watched) : process;
  // Perf counts from an exec on: that of a process that runs already is over.
  const bool runs = recording_ == nullptr || options_.watched > 0 || adopted_ || located_;
  collect::PerfCounters perf = runs ? collect::PerfCounters() : collect::PerfCounters::open(pid);
  // Listeners look for its group.
  accounting_.settle();
  if (groups_.empty()) groups_ = accounting_.groups();
  group_oom_kills_ = oom_kills_of(groups_);
  if (recording_ == nullptr) return;
  const auto watched = recording_->watch(pid, std::move(perf));
  if (!watched) notices_.warn("no metrics are sampled: " + watched.error().message);
}

// 0: go on.
int Supervision::wait_for_release() {
  ready_ = sys::boot_now();
  gate_.ready();
  for (;;) {
    const Gate::Word word = gate_.look(sys::boot_now());
    if (word == Gate::Word::kGo) return 0;
    if (word == Gate::Word::kGone) {
      notices_.warn(std::string(kSchedulerGone) + ": the command was not started");
      return abandon({.kind = OutcomeKind::kNotStarted, .reason = std::string(kSchedulerGone)},
                     kGaveUp);
    }
    std::array<pollfd, 2> waiting{
        pollfd{.fd = gate_.release_descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = gate_.reports_descriptor(), .events = POLLRDHUP, .revents = 0}};
    const int signal = signals_.next(gate_.wake_at(), waiting);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGQUIT)
      return abandon({.kind = OutcomeKind::kInterrupted, .reason = "before its start"},
                     128 + signal);
  }
}

int Supervision::start(const Command& command) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<std::string> environment = environment_of_command();
  auto scene = set_scene(command, environment);
  if (!scene) return refuse(scene.error());
  if (auto container = setting_.address(); container && recording_ != nullptr)
    recording_->note_container(*std::move(container));
  if (const auto spawned = spawn(std::move(*scene), std::move(environment)); !spawned)
    return replace(spawned.error().message);
  accounting_.enter(child_);
  Placement placement = options_.placement;
  // A container is made in its group; the tool that starts it stays outside.
  if (setting_.is_apart()) placement.groups.clear();
  if (const auto placed = place(child_, placement); !placed)
    return refuse({.code = Code::kUnavailable, .message = placed.error().message});
  if (const auto held = hold_terminal(); !held) return replace(held.error().message);
  const bool late = setting_.is_apart() && !first_;
  if (first_) inside_.emplace(*first_, true);
  if (!late) observe(first_.value_or(child_));
  if (const int status = wait_for_release(); status != 0) return status;
  return release(command);
}

// 0: it runs.
int Supervision::release(const Command& command) {
  lifeline::guard(nullptr);
  const auto released = gated_->release();
  if (released) {
    lifeline::hold(child_);
    return 0;
  }
  child_ = 0;
  const Error& error = released.error();
  const bool its_own = error.code == Code::kNotFound || error.code == Code::kPermission;
  return its_own ? refuse(error.with_context(command.argv[0])) : replace(error.message);
}

void Supervision::started(const Command& command) {
  released_ = sys::boot_now();
  if (terminal_ != nullptr) terminal_->enter();
  if (options_.max_time) limit_ = released_ + *options_.max_time;
  // First of all: its scheduler takes a run that it has not heard of for one that never began.
  if (!setting_.is_apart()) begin(released_);
  if (setting_.is_apart() && !first_) locate();
  note_launch();
  // A container's command begins later: look_inside().
  if (located_) begin(began_at(*first_));
  if (!begun_ && !inside_) begin(released_);
  if (recording_ == nullptr) return;
  recording_->start(command);
  recording_->note_unavailable("control group of the run", accounting_.reason());
  warn_of_ranks();
  profiling_->begin(recording_->journal(), child_);
}

void Supervision::warn_of_ranks() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  const std::string warning =
      ranks_elsewhere(options_.command, recording_->directory().manifest().host, variable);
  if (warning.empty()) return;
  notices_.warn(warning);
  recording_->note_unavailable("ranks on other hosts", warning);
}

// A container that is known only once it runs.
void Supervision::locate() {
  first_ = setting_.locate();
  located_ = first_.has_value();
  if (located_) inside_.emplace(*first_, false);
  observe(first_.value_or(child_));
}

// No earlier than its tool was executed, however coarse the kernel's clock of processes is.
BootTime Supervision::began_at(pid_t process) const {
  const auto identity = sys::identity_of(process);
  return identity ? std::max(released_, sys::start_of(*identity)) : released_;
}

// What came before the run; it is taken to begin now until more is known.
void Supervision::note_launch() {
  if (recording_ == nullptr) return;
  recording_->note_begin(released_);
  recording_->note_phase(
      {kPreparationPhase, "preparation", codec::PhaseKind::kControl, made_, ready_});
  if (options_.gate.release >= 0)
    recording_->note_phase(
        {kGatePhase, "waiting at the gate", codec::PhaseKind::kWait, ready_, released_});
}

// The command's first instruction.
void Supervision::begin(BootTime at) {
  begun_ = at;
  gate_.started(at, child_);
  if (options_.max_time) limit_ = at + *options_.max_time;
  if (recording_ == nullptr || !inside_) return;
  recording_->note_begin(at);
  recording_->note_phase(
      {kContainerPhase, "starting the container", codec::PhaseKind::kControl, released_, at});
}

}  // namespace corral::run
