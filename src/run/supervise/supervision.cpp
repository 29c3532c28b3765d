#include "run/supervise/supervision.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "collocate/undo.h"
#include "core/cpu_list.h"
#include "core/text.h"
#include "run/command.h"
#include "run/job.h"
#include "run/supervise/adoption.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// The exit status if the scheduler was gone before the start.
constexpr int kGaveUp = 125;

// IDs of phases in the supervisor's session; 5 is the delivery's.
constexpr std::uint64_t kPreparationPhase = 2;
constexpr std::uint64_t kGatePhase = 3;
constexpr std::uint64_t kContainerPhase = 4;

// Returns the groups as environment::Inside takes them.
std::string group_words(const Placement& placement) {
  std::string words;
  for (const auto& group : placement.groups) words += (words.empty() ? "" : ":") + group.string();
  return words;
}

// Interval at which a supervisor in the background of its terminal looks for the foreground.
constexpr Nanos kForegroundPause{std::chrono::milliseconds(250)};
constexpr Nanos kProgressPause{std::chrono::seconds(1)};
// Interval at which a starting container is looked at: the precision of its start.
constexpr Nanos kLookPause{std::chrono::milliseconds(1)};

// Returns the status as wait(2) returns it.
int wait_status(const siginfo_t& ended) {
  if (ended.si_code == CLD_EXITED) return W_EXITCODE(ended.si_status, 0);
  return W_EXITCODE(0, ended.si_status) | (ended.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

// True if the orphan has ended. It is reaped by the sampler, which counts its usage, or when this
// process ends.
bool has_ended(pid_t orphan) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(orphan), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == orphan;
}

// Time that a holder gets which leftover processes keep alive.
constexpr Nanos kHolderPatience{std::chrono::seconds(5)};
constexpr Nanos kHolderPause{std::chrono::milliseconds(10)};
// A busy controller answers late, and Slurm's time before it kills this process is short.
constexpr Nanos kSlurmPatience{std::chrono::seconds(5)};
constexpr Nanos kUploadPatience{std::chrono::seconds(15)};
// The end of the output, in which a reason for a failure is looked for.
constexpr std::size_t kTailBytes = 8u << 10;
constexpr std::size_t kTailLines = 5;
// A file of the Python package's helpers when they end a training early: one line with the limit.
constexpr const char* kLimitFile = "limit";
constexpr std::size_t kLimitBytes = 4u << 10;
// A shell's exit status for an unknown end.
constexpr int kNobodyKnows = 125;

// A scheduler that has reaped the command sends the status after its other work; one that could not
// reap it sends nothing.
constexpr Nanos kStatusPatience{std::chrono::seconds(5)};
constexpr int kStatusLookMs = 50;
constexpr int kFailed = 1;

std::string own_variable(const char* name) { return sys::own_variable(name); }

// A thread of its own asks, or the one that wants the answer.
constexpr std::launch kLaunch = std::launch::async | std::launch::deferred;

}  // namespace

// ---- Until the command runs

Supervision::Supervision(const Options& options, const InPlace& in_place, std::string lacking)
    : options_(options),
      in_place_(in_place),
      lacking_(std::move(lacking)),
      made_(sys::boot_now()),
      by_launcher_(is_task(own_variable)),
      slurm_(slurm_job(own_variable)),
      notices_(options.quiet),
      stopper_(options.grace),
      gate_(options.gate) {}

int Supervision::run() {
  try {
    auto command = prepare();
    if (!command) return refuse(command.error());
    // A process that only waits would use up one of the command's processes if the limit is low.
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

// Prepares everything that takes time or may be missing, before anything of the run exists.
Result<Command> Supervision::prepare() {
  int interrupt = 0;
  const auto cancelled = [&] {
    const int signal = signals_.next(sys::boot_now());
    if (signal == SIGINT || signal == SIGTERM || signal == SIGQUIT) interrupt = signal;
    return interrupt != 0;
  };
  environment_ = TRY(RunEnvironment::prepare(options_, notices_, cancelled));
  Command command = TRY(environment_.resolve(options_));
  profiling_.emplace(TRY(Profiling::prepare(options_)));
  return command;
}

// Makes a control group for the run, unless a scheduler has decided or a container brings one.
void Supervision::begin_accounting() {
  groups_ = options_.placement.groups;
  if (groups_.empty() && options_.watched == 0 && !environment_.is_apart())
    accounting_.begin(spool::directory_name(*options_.run_id, options_.member));
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

// Reports that nothing was started; the exit status is a shell's.
int Supervision::refuse(const Error& error) {
  notices_.warn(error.message);
  const int status = error.code == Code::kNotFound ? kNotFound : kNotExecutable;
  return abandon({.kind = OutcomeKind::kNotStarted, .reason = error.message, .exit_code = status},
                 status);
}

// Executes the command in place of this process, because it cannot be started as a child.
int Supervision::replace(const std::string& reason) {
  if (!in_place_.possible()) return refuse({.code = Code::kUnavailable, .message = reason});
  sys::guard_call("the supervisor", [&] {
    gated_.reset();  // this ends the child
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    accounting_.discard();
    if (recording_ != nullptr) recording_->discard();
    recording_.reset();
    terminal_.reset();
  });
  return in_place_.execute(printable(reason));
}

int Supervision::abandon(const Outcome& outcome, int status) {
  environment_.end();
  if (recording_ != nullptr) recording_->discard();
  gate_.ended(outcome);
  return status;
}

std::vector<std::string> Supervision::command_environment() const {
  std::vector<std::string> inherited = environment_.inherited();
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

Result<RunEnvironment::Start> Supervision::prepare_start(const Command& command,
                                                         std::vector<std::string> environment) {
  if (environment_.in_container() && recording_ == nullptr)
    return fail(Code::kUnavailable, "a container is only started for a run that is recorded");
  return environment_.start(
      command, {.spool = recording_ != nullptr ? recording_->directory().path() : sys::fs::path(),
                .python_package = options_.python_path,
                .working_directory = start_folder(options_),
                .cgroup_parent = group_words(options_.placement),
                .environment = std::move(environment),
                .chosen = options_.passed,
                .devices = {},
                .cpus = format_cpu_list(options_.placement.cpus),
                .terminal = terminal_ != nullptr});
}

Result<> Supervision::spawn(RunEnvironment::Start scene, std::vector<std::string> environment) {
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

// Starts the holder, which reads the output of the command's terminal.
Result<> Supervision::hold_terminal() {
  if (terminal_ == nullptr) return {};
  signals_.add_terminal();
  return terminal_->hold(child_, TRY(recording_->relay().standard_output()));
}

// Opens everything that observes the run; before the command's exec, if possible.
void Supervision::observe(pid_t process) {
  host_oom_kills_ = host_oom_kills();
  const pid_t pid = options_.watched > 0 ? static_cast<pid_t>(options_.watched) : process;
  // Perf counts from an exec on: a process that runs already has had it.
  const bool runs = recording_ == nullptr || options_.watched > 0 || adopted_ || located_;
  collect::PerfCounters perf = runs ? collect::PerfCounters() : collect::PerfCounters::open(pid);
  // The group must exist before listeners look for it.
  accounting_.settle();
  if (groups_.empty()) groups_ = accounting_.groups();
  group_oom_kills_ = count_oom_kills(groups_);
  if (recording_ == nullptr) return;
  const auto watched = recording_->watch(pid, std::move(perf));
  if (!watched) notices_.warn("no metrics are sampled: " + watched.error().message);
}

// Waits for the scheduler's release. 0: go on.
int Supervision::wait_for_release() {
  ready_ = sys::boot_now();
  gate_.ready();
  for (;;) {
    const Gate::Release release = gate_.poll_release(sys::boot_now());
    if (release == Gate::Release::kOpen) return 0;
    if (release == Gate::Release::kNever) {
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
  std::vector<std::string> environment = command_environment();
  auto scene = prepare_start(command, environment);
  if (!scene) return refuse(scene.error());
  if (auto container = environment_.address(); container && recording_ != nullptr)
    recording_->note_container(*std::move(container));
  if (const auto spawned = spawn(std::move(*scene), std::move(environment)); !spawned)
    return replace(spawned.error().message);
  accounting_.enter(child_);
  Placement placement = options_.placement;
  // A container is made in its group; the tool that starts it stays outside of the group.
  if (environment_.is_apart()) placement.groups.clear();
  if (const auto placed = place(child_, placement); !placed)
    return refuse({.code = Code::kUnavailable, .message = placed.error().message});
  if (const auto held = hold_terminal(); !held) return replace(held.error().message);
  const bool late = environment_.is_apart() && !first_;
  if (first_) inside_.emplace(*first_, true);
  if (!late) observe(first_.value_or(child_));
  if (const int status = wait_for_release(); status != 0) return status;
  return release(command);
}

// Starts the command. 0: it runs.
int Supervision::release(const Command& command) {
  lifeline::guard(nullptr);
  // Before, not after: on a busy machine a command may have ended by the time this thread goes on,
  // and what it recorded must not lie before its run.
  released_ = sys::boot_now();
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
  if (terminal_ != nullptr) terminal_->enter();
  if (options_.max_time) limit_ = released_ + *options_.max_time;
  // The start is reported first: the scheduler assumes that a run without a report never began.
  if (!environment_.is_apart()) begin(released_);
  if (environment_.is_apart() && !first_) locate();
  note_launch();
  // A container's command begins later: watch_container().
  if (located_) begin(began_at(*first_));
  if (!begun_ && !inside_) begin(released_);
  if (recording_ == nullptr) return;
  recording_->start(command);
  recording_->note_unavailable("control group of the run", accounting_.reason());
  warn_of_ranks();
  profiling_->begin(recording_->journal(), child_);
}

void Supervision::warn_of_ranks() {
  const std::string warning =
      ranks_elsewhere(options_.command, recording_->directory().manifest().host, own_variable);
  if (warning.empty()) return;
  notices_.warn(warning);
  recording_->note_unavailable("ranks on other hosts", warning);
}

// Finds a container that is known only once it runs.
void Supervision::locate() {
  first_ = environment_.locate();
  located_ = first_.has_value();
  if (located_) inside_.emplace(*first_, false);
  observe(first_.value_or(child_));
}

// Returns the start of a process, but not before its tool was executed: the kernel's clock of
// processes is coarse.
BootTime Supervision::began_at(pid_t process) const {
  const auto identity = sys::identity_of(process);
  return identity ? std::max(released_, sys::start_of(*identity)) : released_;
}

// Records the time before the run, which is taken to begin now until more is known.
void Supervision::note_launch() {
  if (recording_ == nullptr) return;
  recording_->note_begin(released_);
  recording_->note_phase(
      {kPreparationPhase, "preparation", codec::PhaseKind::kControl, made_, ready_});
  if (options_.gate.release >= 0)
    recording_->note_phase(
        {kGatePhase, "waiting at the gate", codec::PhaseKind::kWait, ready_, released_});
}

// Notes the time of the command's first instruction.
void Supervision::begin(BootTime at) {
  begun_ = at;
  gate_.started(at, child_);
  if (options_.max_time) limit_ = at + *options_.max_time;
  if (recording_ == nullptr || !inside_) return;
  recording_->note_begin(at);
  recording_->note_phase(
      {kContainerPhase, "starting the container", codec::PhaseKind::kControl, released_, at});
}

// ---- A run whose supervisor is gone

// Waits for the status from the scheduler, which has become the command's parent.
void Supervision::await_status() {
  const BootTime deadline = sys::boot_now() + kStatusPatience;
  while (!reported_status_ && gate_.reports_descriptor() >= 0 && sys::boot_now() < deadline) {
    pollfd told{.fd = gate_.reports_descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&told, 1, kStatusLookMs);
    read_gate();
  }
}

int Supervision::adopt() {
  const auto refused = [&](const Error& error) {
    notices_.warn(error.message);
    return kFailed;
  };
  const auto path = find_spooled(options_);
  if (!path) return refused(path.error());
  auto directory = take_over(*path, [&] {
    const int signal = signals_.next(sys::boot_now());
    return signal == SIGINT || signal == SIGTERM;
  });
  if (!directory) return refused(directory.error());
  const auto child = directory->manifest().child;
  // After a reboot only the server knows the run's end: no process of this boot does.
  if (child && child->boot_id != sys::boot_id())
    return refused(
        {.code = Code::kNotFound, .message = "its command ended with the machine's boot"});
  if (!child || (!directory->manifest().begun && !sys::is_alive(*child)))
    return refused({.code = Code::kNotFound, .message = "its command never started"});
  auto recording = Recording::adopt(options_, notices_, std::move(*directory));
  if (!recording) return refused(recording.error());
  recording_ = std::move(*recording);
  recording_->on_spooler(lifeline::passes_on);
  child_ = child->pid;
  adopted_ = sys::open_process(child_).value_or(sys::Fd());
  // The check follows the opening of the descriptor: the PID may have been reused before. A
  // descriptor that is always readable stands for a command that has ended.
  const bool alive = adopted_ && sys::is_alive(*child);
  if (!alive) adopted_ = sys::open_file("/dev/null", O_RDONLY).value_or(sys::Fd());
  if (alive) observe(child_);
  gate_.ready();
  const auto& manifest = recording_->directory().manifest();
  if (!manifest.begun) recording_->note_begin(sys::boot_now());
  const BootTime started = *manifest.begun;
  begun_ = started;
  gate_.started(started, child_);
  if (options_.max_time) limit_ = started + *options_.max_time;
  recording_->resume();
  watch();
  if (const auto status = container_end(recording_->directory().manifest())) {
    reported_status_ = *status << 8;
  } else {
    await_status();
  }
  const int status = end();
  // The group of the former supervisor has no owner any more.
  collocate::UndoOptions options;
  options.state = collocate::default_state();
  [[maybe_unused]] const auto report = collocate::undo_all(options);
  return status;
}

// ---- While the command runs

std::optional<BootTime> earliest(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

void Supervision::send(int signal) {
  // SIGINT goes to the command's process group, as from a terminal. The other signals, and all
  // signals once the command has ended, go to processes that left that group, too; no process gets
  // one twice.
  const std::vector<pid_t> others = ended_ || signal != SIGINT ? left_over() : std::vector<pid_t>();
  for (const pid_t pid : others) {
    if (::getpgid(pid) != child_) ::kill(pid, signal);
  }
  // The process group of an adopted command may belong to another process once the command is gone.
  if (!adopted_ || !ended_) ::kill(-child_, signal);
  // The tool forwards the other signals.
  if (signal == SIGKILL) environment_.end();
}

void Supervision::handle(int signal) {
  const BootTime now = sys::boot_now();
  if (signal == SIGINT || signal == SIGQUIT) {
    notices_.say(stopper_.asked() ? "stopping it faster"
                                  : "stopping the run; Ctrl-C again to hurry");
    stopper_.ask(SIGINT, codec::EndReason::kInterrupt, now);
  } else if (signal == SIGTERM && by_launcher_ && !environment_.is_apart()) {
    pass_on(signal);
  } else if (signal == SIGTERM) {
    stopper_.ask(SIGTERM, codec::EndReason::kInterrupt, now);
  }
  // SIGHUP is ignored: the terminal is gone, but the training goes on.
  if (limit_ && now >= *limit_) {
    limit_.reset();
    notices_.say("--max-time is reached: stopping the run");
    stopper_.ask(SIGINT, codec::EndReason::kMaxTime, now);
  }
  if (const auto due = stopper_.due(now)) send(*due);
}

// A launcher signals all processes of a job that it ends, often more than once, and kills them when
// its time is up. This process never does: until then they may write a checkpoint.
void Supervision::pass_on(int signal) {
  passed_on_ = true;
  send(signal);
  unasked_ = slurm_.has_value();
  ask_job_end();
}

// A job that is only sent a signal goes on, and may be ended by a later one: each is asked about.
void Supervision::ask_job_end() {
  if (!unasked_ || asking_.valid() || job_end_) return;
  unasked_ = false;
  const sys::SignalsBlocked blocked;
  asking_ = std::async(kLaunch, [job = *slurm_] { return ask_slurm_end(job, kSlurmPatience); });
}

// Notes the launcher's reason as soon as it is known: it may kill this process, too.
void Supervision::take_job_end() {
  if (!asking_.valid() || asking_.wait_for(Nanos(0)) != std::future_status::ready) return;
  job_end_ = asking_.get();
  if (job_end_ && recording_ != nullptr) recording_->note_outcome(*job_end_);
  ask_job_end();
}

// The launcher's signal may have ended the command before this process has seen one.
void Supervision::settle_job_end() {
  const BootTime deadline = sys::boot_now() + kSlurmPatience;
  if (asking_.valid()) job_end_ = asking_.get();
  const int status = reported_status_.value_or(status_);
  const bool by_signal = (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) ||
                         (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
  if (by_launcher_ && slurm_ && !passed_on_ && !stopper_.asked() && by_signal) unasked_ = true;
  if (unasked_ && !job_end_)
    job_end_ = ask_slurm_end(*slurm_,
                             std::max(deadline - sys::boot_now(), Nanos(std::chrono::seconds(1))));
}

bool Supervision::reap() {
  if (adopted_) return reap_adopted();
  siginfo_t ended{};
  const int asked = ::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
  if (ended.si_pid != child_) return asked != 0 && errno == ECHILD;
  // Until the command is reaped the kernel knows its usage: the last sample is exact.
  if (recording_ != nullptr && options_.leftovers == Leftovers::kLeave) recording_->stop_sampling();
  status_ = wait_status(ended);
  lifeline::ended(status_);
  // Otherwise it is reaped after its end was reported: if this supervisor is killed before, the
  // process that inherits the command can still read its status.
  if (options_.leftovers == Leftovers::kWait) ::waitpid(child_, nullptr, WNOHANG);
  return true;
}

bool Supervision::reap_adopted() {
  pollfd process{.fd = adopted_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&process, 1, 0) == 1;
}

// Watches the command until its end. After any failure the command is still waited for, and its
// status is returned.
int Supervision::attend() {
  int status = 0;
  const auto all = [&] {
    watch();
    leftovers();
    status = end();
  };
  if (sys::guard_call("the supervisor", all)) return status;
  status = lifeline::wait();
  sys::guard_call("the supervisor", [&] {
    if (recording_ == nullptr) return;
    recording_->stop_spooler();
    finish_output();
  });
  return status;
}

void Supervision::watch() {
  while (!reap()) {
    const auto look = begun_ ? std::nullopt : std::optional(sys::boot_now() + kLookPause);
    handle(next_signal(earliest(look, earliest(limit_, stopper_.wake_at()))));
    take_job_end();
    watch_container();
  }
  if (!finished_) finished_ = sys::boot_now();
  // The command was shorter than the interval of looks.
  if (!begun_) begin(*finished_);
  ended_ = true;
}

// Notes the begin and the end of a container's command: it begins after its tool and ends before
// it.
void Supervision::watch_container() {
  if (!inside_) return;
  if (!begun_ && inside_->executes()) begin(sys::boot_now());
  if (!finished_ && inside_->ended()) finished_ = sys::boot_now();
}

// Handles a terminal's signal; true: the signal needs nothing more.
bool Supervision::handle_terminal_signal(int signal) {
  if (terminal_ == nullptr) return false;
  if (signal == SIGTSTP) terminal_->suspend(!ended_);
  if (signal == SIGWINCH) terminal_->resize();
  terminal_->tend();
  terminal_->enter();
  return signal == SIGTSTP || signal == SIGWINCH || signal == SIGCONT;
}

// Returns the next signal, from the kernel or from a key; 0: none came until the deadline, or
// another event came.
int Supervision::next_signal(std::optional<BootTime> deadline) {
  std::array<pollfd, 5> waiting{
      pollfd{.fd = ended_ ? -1 : gate_.reports_descriptor(), .events = POLLIN, .revents = 0},
      pollfd{.fd = ended_ ? -1 : adopted_.get(), .events = POLLIN, .revents = 0}};
  waiting[2].fd = waiting[3].fd = -1;
  waiting[4] = {
      .fd = inside_ && !finished_ ? inside_->descriptor() : -1, .events = POLLIN, .revents = 0};
  if (terminal_ != nullptr) {
    std::ranges::copy(terminal_->waits(), waiting.begin() + 2);
    deadline = earliest(deadline, sys::boot_now() + kForegroundPause);
  }
  deadline = earliest(deadline, next_progress());
  int signal = typed_.empty() ? signals_.next(deadline, waiting) : 0;
  if (waiting[0].revents != 0) read_gate();
  report_progress();
  if (terminal_ != nullptr) {
    const std::vector<int> keys = terminal_->read_keys({waiting[2], waiting[3]});
    for (const int key : keys) {
      // The signal goes to the whole job, as from the terminal: a script around this command gets
      // Ctrl-C, too.
      if (key == SIGTSTP) typed_.push_back(key);
      if (key != SIGTSTP) ::kill(0, key);
    }
  }
  if (signal == 0 && !typed_.empty()) {
    signal = typed_.front();
    typed_.erase(typed_.begin());
  }
  return handle_terminal_signal(signal) ? 0 : signal;
}

// Returns the time of the next report of progress; nullopt: no scheduler reads them.
std::optional<BootTime> Supervision::next_progress() const {
  const bool heard = !ended_ && recording_ != nullptr && gate_.reports_descriptor() >= 0;
  return heard ? std::optional(next_report_) : std::nullopt;
}

void Supervision::report_progress() {
  const auto at = next_progress();
  const BootTime now = sys::boot_now();
  if (!at || now < *at) return;
  next_report_ = now + kProgressPause;
  const Progress progress = recording_->progress();
  if (progress != reported_progress_ && gate_.progress(progress)) reported_progress_ = progress;
}

void Supervision::read_gate() {
  for (const SchedulerRequest& request : gate_.read_requests()) {
    if (recording_ != nullptr) recording_->note_tags(request.tags);
    if (request.status) reported_status_ = request.status;
    if (!request.stop || ended_ || stopper_.asked()) continue;
    end_rule_ = *request.stop;
    notices_.say("stopping the run: " + *request.stop);
    stopper_.ask(SIGINT, codec::EndReason::kInterrupt, sys::boot_now());
    handle(0);
  }
}

// Returns the live processes of the run without the command itself. Orphans become children of this
// process (a subreaper); its own helpers (git, the store's server) and their leftovers in its
// session do not count.
std::vector<pid_t> Supervision::left_over() const {
  // Orphans of an adopted command cannot be recognised.
  if (adopted_) return ended_ ? std::vector<pid_t>() : sys::descendants_of(child_);
  std::vector<pid_t> pids;
  for (const pid_t child : sys::children_of(::getpid())) {
    if (child != child_ && (::getsid(child) == ::getsid(0) || sys::started_here(child))) continue;
    if (child != child_ && !has_ended(child)) pids.push_back(child);
    const auto below = sys::descendants_of(child);
    pids.insert(pids.end(), below.begin(), below.end());
  }
  return pids;
}

void Supervision::leave(std::size_t processes) {
  notices_.say(fmt::format(
      "{} process{} outlived the command and {} left running; --leftovers wait waits for them",
      processes, processes == 1 ? "" : "es", processes == 1 ? "is" : "are"));
  if (recording_ != nullptr) recording_->note_leftovers(processes);
}

void Supervision::leftovers() {
  const std::size_t found = left_over().size();
  if (found == 0) return;
  const auto leaves = [&] {
    return !stopper_.asked() && !job_end_ && options_.leftovers == Leftovers::kLeave;
  };
  // After a launcher's signal they may be writing a checkpoint, and it may not be its last word.
  const BootTime until = sys::boot_now() + (passed_on_ ? options_.grace : Nanos(0));
  if (leaves() && !passed_on_) return leave(found);
  if (!stopper_.asked())
    notices_.say(fmt::format("waiting for {} process{} that outlived the command", found,
                             found == 1 ? "" : "es"));
  if (stopper_.asked()) stopper_.restart(SIGTERM, sys::boot_now());
  for (std::size_t left = found; left > 0; left = left_over().size()) {
    if (leaves() && sys::boot_now() >= until) return leave(left);
    handle(next_signal(earliest(sys::boot_now() + Nanos(std::chrono::milliseconds(50)),
                                earliest(limit_, stopper_.wake_at()))));
    take_job_end();
  }
  finished_ = sys::boot_now();
}

// ---- Once the command has ended

codec::RunEndBody Supervision::end_body() const {
  codec::RunEndBody end{.time = finished_.value_or(sys::boot_now()),
                        .reason = codec::EndReason::kUnknown,
                        .exit_code = {},
                        .exit_signal = {}};
  const bool known = !adopted_ || reported_status_;
  const int status = reported_status_.value_or(status_);
  if (known && WIFEXITED(status)) {
    end.reason = codec::EndReason::kExit;
    end.exit_code = WEXITSTATUS(status);
  } else if (known) {
    end.reason = codec::EndReason::kSignal;
    end.exit_signal = WTERMSIG(status);
  }
  const bool by_signal = end.exit_signal == SIGTERM || end.exit_code == 128 + SIGTERM;
  if (job_end_ || (passed_on_ && by_signal)) end.reason = codec::EndReason::kInterrupt;
  if (stopper_.reason()) end.reason = *stopper_.reason();
  return end;
}

// Waits until the former supervisor's holder, which has the file locked, has written the rest of
// the terminal's output.
void Supervision::await_holder() const {
  const auto file = recording_->directory().files().open_file(
      spool::output_name(codec::LogStream::kTty), O_RDONLY);
  const BootTime deadline = sys::boot_now() + kHolderPatience;
  while (file && ::flock(file->get(), LOCK_SH | LOCK_NB) != 0 && sys::boot_now() < deadline)
    sys::system_clock().sleep_until(sys::boot_now() + kHolderPause);
}

int Supervision::end() {
  environment_.end();
  if (gate_.reports_descriptor() >= 0) read_gate();  // tags may have come with the command's end
  settle_job_end();
  const codec::RunEndBody end = end_body();
  const int code = end.exit_code     ? *end.exit_code
                   : end.exit_signal ? 128 + *end.exit_signal
                                     : kNobodyKnows;
  if (terminal_ != nullptr) terminal_->drain();
  if (adopted_) await_holder();
  const std::string tail =
      recording_ != nullptr ? recording_->relay().tail(kTailBytes) : std::string();
  const Outcome how = outcome(end, tail);
  const std::vector<std::string> last = last_lines(tail, kTailLines);
  if (recording_ != nullptr) {
    recording_->note_outcome(how);
    recording_->finish(end, [&] { profile(end.time); });
  }
  gate_.ended(how, last, end.time);
  if (!adopted_) ::waitpid(child_, nullptr, WNOHANG);
  accounting_.end();
  if (recording_ == nullptr) return code;
  finish_output();
  if (terminal_ != nullptr) terminal_->leave();
  const std::string advice =
      code != 0 && !adopted_ ? interpreter_advice(options_, tail) : std::string();
  if (!advice.empty()) notices_.say(advice);
  wait_uploaded();
  return code;
}

void Supervision::wait_uploaded() {
  const BootTime deadline = sys::boot_now() + kUploadPatience;
  const bool all = recording_->wait_uploaded([&] {
    const int signal = next_signal(sys::boot_now());
    return sys::boot_now() > deadline || signal == SIGINT || signal == SIGTERM;
  });
  if (!all && options_.destination.withheld.empty())
    notices_.warn("not all data has reached the server; the rest waits in " +
                  recording_->directory().path().string() + " for the next corral run or serve");
  // A plan's runs report to the plan.
  const bool asks = all && !options_.quiet && options_.gate.reports < 0;
  for (const auto line : {&Recording::ending, &Recording::explanation}) {
    const std::string text = asks ? (*recording_.*line)() : "";
    if (text.empty()) break;  // a server that did not answer is not asked again
    notices_.say(text);
  }
  if (!recording_->summary().empty()) notices_.say(recording_->summary());
}

Outcome Supervision::outcome(const codec::RunEndBody& end, std::string tail) const {
  Ending ending{.seen = !adopted_ || reported_status_,
                .exit_code = end.exit_code,
                .exit_signal = end.exit_signal};
  if (end.reason == codec::EndReason::kMaxTime) ending.asked = Asked::kLimit;
  if (end.reason == codec::EndReason::kInterrupt) ending.asked = Asked::kInterrupt;
  if (end_rule_) {
    ending.asked = Asked::kStop;
    ending.stop_reason = *end_rule_;
  }
  ending.group_oom_kills = count_oom_kills(groups_) - group_oom_kills_;
  ending.host_oom_kills = host_oom_kills() - host_oom_kills_;
  ending.tail = std::move(tail);
  if (recording_ != nullptr)
    ending.limit = recording_->directory().files().read_file(kLimitFile, kLimitBytes).value_or("");
  Outcome how = classify_end(ending);
  if (job_end_) {
    how.kind = job_end_->kind;
    how.reason = job_end_->reason;
  }
  return how;
}

void Supervision::profile(BootTime ended) {
  if (options_.profile) finish_output();
  if (adopted_) {
    const auto& directory = recording_->directory();
    const auto kept = spool::keep_left_reports(directory.files(), directory.manifest().run);
    if (!kept) notices_.warn("a profiler's report is not kept: " + kept.error().message);
  }
  if (!profiling_) return;
  profiling_->end(recording_->journal(), ended, notices_, [&] {
    const int signal = next_signal(sys::boot_now() + Nanos(std::chrono::milliseconds(50)));
    return signal == SIGINT || signal == SIGTERM;
  });
}

// Passes on the last output of the command, however slowly its reader reads; Ctrl-C ends the wait.
void Supervision::finish_output() {
  while (!recording_->relay().pass_on()) {
    const int signal = next_signal(sys::boot_now() + Nanos(std::chrono::milliseconds(10)));
    if (signal == SIGINT || signal == SIGTERM) return;
  }
}

}  // namespace corral::run
