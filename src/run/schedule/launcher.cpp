#include "run/schedule/launcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>

#include "core/text.h"
#include "environment/environment.h"
#include "sys/clock.h"
#include "sys/inherited.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {
namespace {

constexpr std::size_t kWordsBytes = 4096;
constexpr Nanos kStrayPause{std::chrono::seconds(10)};

struct Descriptors {
  sys::Fd ours;
  sys::Fd theirs;
};

// One supervisor that lives, or whose last event was not reported yet.
struct Child {
  pid_t pid = 0;
  bool own = false;  // started here, and reaped here
  bool ready = false;
  bool waiting = false;  // behind the gate
  sys::Fd process;       // pidfd
  sys::Fd reports;
  sys::Fd words;  // its output, an unnamed file
  std::string unread;
};

// A command whose supervisor is gone: the kernel made this process its parent.
struct Orphan {
  pid_t pid = 0;
  sys::Fd process;              // pidfd, while it lives
  std::optional<int> status{};  // as wait(2) returns it
};

Result<Descriptors> socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0)
    return fail_errno("a socket for a supervisor", errno);
  return Descriptors{.ours = sys::Fd(fds[0]), .theirs = sys::Fd(fds[1])};
}

Result<Descriptors> gate_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno("the gate of a workload", errno);
  return Descriptors{.ours = sys::Fd(fds[1]), .theirs = sys::Fd(fds[0])};
}

// Returns an unnamed file with the document, positioned at its beginning.
Result<sys::Fd> order_file(const SupervisorOrder& order) {
  sys::Fd file(::memfd_create("corral-order", MFD_CLOEXEC));
  if (!file) return fail_errno("the order to a supervisor", errno);
  TRY(sys::write_all(file.get(), dump_order(order)));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("the order to a supervisor", errno);
  return file;
}

// Returns arguments that only show the run in ps(1); the order's document counts.
std::vector<std::string> shown_arguments(const SupervisorOrder& order) {
  if (order.adopt) return {"--adopt", order.run};
  std::vector<std::string> words = {"--run-id", order.run, "--name", order.name, "--"};
  words.insert(words.end(), order.command.begin(), order.command.end());
  return words;
}

// Owns posix_spawn's two lists.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  // Keeps `fd` open over exec, with the same number.
  void pass(int fd) { ::posix_spawn_file_actions_adddup2(&actions, fd, fd); }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

std::string last_line(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string text(kWordsBytes, '\0');
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kWordsBytes));
  const ssize_t n = ::pread(fd, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::string_view words = trim(text);
  words = trim(words.substr(words.rfind('\n') + 1));
  for (const std::string_view prefix : {"corral run: ", "corral: "})
    if (words.starts_with(prefix)) words.remove_prefix(prefix.size());
  return to_utf8(words);
}

// Directory of the process that is spawned while this lives. With glibc 2.28, which cannot set one
// for posix_spawn, this process goes there and back.
class WorkingDirectory {
 public:
  WorkingDirectory(const std::filesystem::path& directory, SpawnPlan& plan) {
    using Add = int (*)(posix_spawn_file_actions_t*, const char*);
    static const auto add =
        reinterpret_cast<Add>(::dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addchdir_np"));
    if (add != nullptr) {
      error_ = add(&plan.actions, directory.c_str());
      return;
    }
    before_ = sys::Fd(::open(".", O_PATH | O_CLOEXEC));
    if (!before_ || ::chdir(directory.c_str()) != 0) error_ = errno;
  }
  ~WorkingDirectory() {
    if (before_) [[maybe_unused]]
      const int ignored = ::fchdir(before_.get());
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  [[nodiscard]] int error() const { return error_; }

 private:
  sys::Fd before_;
  int error_ = 0;
};

class Supervisors : public Launcher {
 public:
  explicit Supervisors(SupervisorOptions options) : options_(std::move(options)) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int s : {SIGINT, SIGTERM, SIGQUIT, SIGHUP})
      if (!sys::ignored_at_start(s)) ::sigaddset(&set, s);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_ = sys::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  Result<> launch(const Order& order) override;
  void release() override;
  void abandon() override;
  Result<> follow(const std::string& run, const sys::ProcessIdentity& supervisor) override;
  void signal(const std::string& run, int signal) override;
  void stop(const std::string& run, const std::string& reason) override;
  void send_tags(const std::string& run, const plan::Pairs& tags) override;
  std::vector<Event> wait(std::optional<BootTime> deadline) override;
  BootTime now() override { return sys::boot_now(); }

 private:
  Result<Child> spawn(const Order& order, const std::vector<std::string>& arguments,
                      SpawnPlan& plan);
  bool say(const std::string& run, const Json& line);
  void read_signals(std::vector<Event>& events);
  void read_reports(const std::string& run, Child& child, std::vector<Event>& events);
  void keep_orphan(const std::string& run);
  void reap_orphans();
  void reap_strays();
  void tell_status(const std::string& run);
  Event farewell(const std::string& run, Child& child) const;
  SupervisorOptions options_;
  sys::Fd signals_;
  Descriptors gate_;
  std::map<std::string, Child> children_;
  std::map<std::string, pid_t> commands_;  // commands of runs that were begun here
  std::map<std::string, Orphan> orphans_;
  std::set<pid_t> zombies_;  // zombies of the last look
  BootTime next_strays_;
};

Result<Child> Supervisors::spawn(const Order& order, const std::vector<std::string>& arguments,
                                 SpawnPlan& plan) {
  Child child;
  child.own = true;
  if (const auto words = sys::PrivateDirectory::open(options_.last_words))
    child.words = sys::Fd(::openat(words->descriptor(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!child.words) child.words = TRY(sys::open_file("/dev/null", O_RDWR));
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&plan.actions, child.words.get(), 1);
  ::posix_spawn_file_actions_adddup2(&plan.actions, child.words.get(), 2);
  const WorkingDirectory directory(order.directory, plan);
  if (directory.error() != 0) return fail_errno(order.directory.string(), directory.error());
  const std::vector<std::string> environment =
      environment::environment_with(sys::own_environment(), order.environment);
  const int error =
      ::posix_spawn(&child.pid, options_.program.c_str(), &plan.actions, &plan.attributes,
                    pointers(arguments).data(), pointers(environment).data());
  if (error != 0) return fail_errno("a supervisor cannot be started", error);
  child.process = sys::open_process(child.pid).value_or(sys::Fd());
  if (!child.process) return fail_errno("a supervisor cannot be watched", errno);
  return child;
}

Result<> Supervisors::launch(const Order& order) {
  Descriptors socket = TRY(socket_pair());
  if (order.gated && !gate_.ours) gate_ = TRY(gate_pipe());
  const std::string& run = order.document.run;
  SupervisorOrder document = order.document;
  document.gate = {.release = order.gated ? gate_.theirs.get() : -1,
                   .reports = socket.theirs.get(),
                   .last_word = options_.last_words / (run + ".json")};
  const sys::Fd file = TRY(order_file(document));
  SpawnPlan plan;
  plan.pass(file.get());
  plan.pass(socket.theirs.get());
  if (order.gated) plan.pass(gate_.theirs.get());
  std::vector<std::string> arguments = {options_.program.string(), "run", "--order-fd",
                                        std::to_string(file.get())};
  const std::vector<std::string> shown = shown_arguments(document);
  arguments.insert(arguments.end(), shown.begin(), shown.end());
  Child child = TRY(spawn(order, arguments, plan));
  child.waiting = order.gated;
  child.reports = std::move(socket.ours);
  children_[run] = std::move(child);
  tell_status(run);  // adopted after the command's end
  return {};
}

// Writes a byte for each supervisor in one write: none waits for another one's byte.
void Supervisors::release() {
  std::string bytes;
  for (auto& [run, child] : children_) {
    if (child.waiting) bytes += '.';
    child.waiting = false;
  }
  if (gate_.ours) std::ignore = sys::write_all(gate_.ours.get(), bytes);
  gate_ = {};
}

void Supervisors::abandon() {
  for (auto& [run, child] : children_)
    if (child.waiting) child.reports.reset();
  gate_ = {};
}

Result<> Supervisors::follow(const std::string& run, const sys::ProcessIdentity& supervisor) {
  Child child;
  child.pid = supervisor.pid;
  child.process = sys::open_process(supervisor.pid).value_or(sys::Fd());
  // The check follows the opening: the PID may have been reused before.
  if (!child.process || !sys::is_alive(supervisor))
    return fail(Code::kNotFound, "its supervisor is gone");
  child.ready = true;
  children_[run] = std::move(child);
  return {};
}

void Supervisors::signal(const std::string& run, int signal) {
  const auto found = children_.find(run);
  if (found != children_.end()) sys::signal_process(found->second.process, signal);
}

bool Supervisors::say(const std::string& run, const Json& line) {
  const auto found = children_.find(run);
  if (found == children_.end() || !found->second.reports) return false;
  const std::string text = line.dump() + "\n";
  return ::send(found->second.reports.get(), text.data(), text.size(),
                MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

void Supervisors::stop(const std::string& run, const std::string& reason) {
  // A supervisor that another scheduler started has no socket to this process.
  if (!say(run, Json::Object{{"stop", reason}})) signal(run, SIGINT);
}

void Supervisors::send_tags(const std::string& run, const plan::Pairs& tags) {
  Json::Object object;
  for (const auto& [key, value] : tags) object.emplace_back(key, value);
  say(run, Json::Object{{"tags", std::move(object)}});
}

void Supervisors::read_signals(std::vector<Event>& events) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    // The terminal is gone; the plan is not.
    if (info.ssi_signo == SIGHUP) continue;
    Event event;
    event.kind = EventKind::kSignal;
    event.signal = static_cast<int>(info.ssi_signo);
    events.push_back(std::move(event));
  }
}

void Supervisors::read_reports(const std::string& run, Child& child, std::vector<Event>& events) {
  std::array<char, 4096> piece{};
  while (child.reports) {
    const ssize_t n = ::recv(child.reports.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n > 0) child.unread.append(piece.data(), static_cast<std::size_t>(n));
    if (n == 0) child.reports.reset();
    if (n <= 0) break;
  }
  for (std::size_t end = child.unread.find('\n'); end != std::string::npos;
       end = child.unread.find('\n')) {
    const auto report = Json::parse(std::string_view(child.unread).substr(0, end));
    child.unread.erase(0, end + 1);
    if (!report) continue;
    Event event;
    event.run = run;
    if (report->find("ready") != nullptr) {
      child.ready = true;
      event.kind = EventKind::kReady;
    } else if (report->find("started_ns") != nullptr) {
      event.kind = EventKind::kStarted;
      event.started = boot_time(report->get_int("started_ns"));
      commands_.try_emplace(run, static_cast<pid_t>(report->get_int("pid")));
    } else if (const Json* progress = report->find("progress"); progress != nullptr) {
      event.kind = EventKind::kProgress;
      event.progress = parse_progress(*progress);
    } else if (report->find("outcome") != nullptr) {
      event.kind = EventKind::kEnded;
      event.end = parse_end(*report);
      if (report->find("ended_ns") != nullptr) event.ended = boot_time(report->get_int("ended_ns"));
    } else {
      continue;
    }
    events.push_back(std::move(event));
  }
}

Event Supervisors::farewell(const std::string& run, Child& child) const {
  Event event;
  event.kind = EventKind::kGone;
  event.run = run;
  int status = 0;
  if (child.own && ::waitpid(child.pid, &status, 0) == child.pid)
    event.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (child.words) event.words = last_line(child.words.get());
  if (const auto word = read_last_word(options_.last_words, run)) event.end = *word;
  return event;
}

void Supervisors::keep_orphan(const std::string& run) {
  const auto command = commands_.find(run);
  if (command == commands_.end() || orphans_.contains(run)) return;
  const pid_t pid = command->second;
  commands_.erase(command);
  if (pid > 0) orphans_[run] = {.pid = pid, .process = sys::open_process(pid).value_or(sys::Fd())};
}

// Reports the end of orphaned commands. There is no report for a command that was reaped by its
// supervisor, or that is the child of another process.
void Supervisors::reap_orphans() {
  for (auto& [run, orphan] : orphans_) {
    int status = 0;
    const pid_t got = orphan.process ? ::waitpid(orphan.pid, &status, WNOHANG) : 0;
    if (got == 0) continue;
    orphan.process.reset();
    if (got != orphan.pid) continue;
    orphan.status = status;
    tell_status(run);
  }
}

// Reaps all other processes that supervisors left to this process. Its other threads reap their own
// children at once: only a process that was a zombie at the last look, too, is a stray.
void Supervisors::reap_strays() {
  if (now() < next_strays_) return;
  next_strays_ = now() + kStrayPause;
  std::set<pid_t> ended;
  for (const pid_t pid : sys::children_of(::getpid())) {
    siginfo_t info{};
    const bool zombie =
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid;
    if (!zombie || (zombies_.contains(pid) && ::waitpid(pid, nullptr, WNOHANG) == pid)) continue;
    ended.insert(pid);
  }
  zombies_ = std::move(ended);
}

void Supervisors::tell_status(const std::string& run) {
  const auto orphan = orphans_.find(run);
  if (orphan == orphans_.end() || !orphan->second.status) return;
  say(run, Json::Object{{"status", std::int64_t{*orphan->second.status}}});
}

std::vector<Event> Supervisors::wait(std::optional<BootTime> deadline) {
  std::vector<pollfd> polled = {{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  for (const auto& [run, child] : children_) {
    polled.push_back({.fd = child.process.get(), .events = POLLIN, .revents = 0});
    polled.push_back({.fd = child.reports.get(), .events = POLLIN, .revents = 0});
  }
  for (const auto& [run, orphan] : orphans_)
    polled.push_back({.fd = orphan.process.get(), .events = POLLIN, .revents = 0});
  int milliseconds = -1;
  if (deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now()).count();
    milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, 24 * 3600 * 1000));
  }
  ::poll(polled.data(), polled.size(), milliseconds);
  std::vector<Event> events;
  read_signals(events);
  std::size_t at = 1;
  for (auto child = children_.begin(); child != children_.end(); at += 2) {
    // Its last reports come before its end.
    const bool gone = (polled[at].revents & POLLIN) != 0;
    read_reports(child->first, child->second, events);
    if (gone) {
      events.push_back(farewell(child->first, child->second));
      keep_orphan(child->first);
      reap_strays();
    }
    child = gone ? children_.erase(child) : std::next(child);
  }
  reap_orphans();
  return events;
}

}  // namespace

std::unique_ptr<Launcher> supervisor_launcher(const SupervisorOptions& options) {
  return std::make_unique<Supervisors>(options);
}

Progress parse_progress(const Json& report) {
  Progress progress{.phase = report.get_string("phase")};
  const auto number = [&](const char* name) {
    const Json* value = report.find(name);
    return value != nullptr ? std::optional(value->as_double(std::nan(""))) : std::nullopt;
  };
  if (report.find("step") != nullptr) progress.step = report.get_int("step");
  progress.loss = number("loss");
  progress.cores = number("cores");
  if (const Json* gpus = report.find("gpus"); gpus != nullptr && gpus->as_object() != nullptr) {
    for (const auto& [device, busy] : *gpus->as_object())
      progress.gpus.emplace_back(device, busy.as_double(0));
  }
  return progress;
}

std::optional<End> read_last_word(const std::filesystem::path& directory, const std::string& run) {
  const auto files = sys::PrivateDirectory::open(directory);
  const auto text = files ? files->read_file(run + ".json") : tl::unexpected(files.error());
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || json->find("outcome") == nullptr) return std::nullopt;
  return parse_end(*json);
}

}  // namespace corral::run::schedule
