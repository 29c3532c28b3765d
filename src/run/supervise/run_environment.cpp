#include "run/supervise/run_environment.h"

#include <fmt/core.h>
#include <poll.h>

#include <cstdlib>

#include "environment/tool.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {
namespace {

std::string find_variable(const std::vector<std::string>& environment, std::string_view name) {
  std::string value;
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      value = entry.substr(name.size() + 1);
  }
  return value;
}

}  // namespace

Result<RunEnvironment> RunEnvironment::prepare(const Options& options, Notices& notices,
                                               const std::function<bool()>& cancelled) {
  RunEnvironment made;
  if (options.environment.empty()) return made;
  const environment::Spec spec = TRY(environment::parse(options.environment));
  std::error_code error;
  auto prepared =
      environment::prepare(spec, {.directory = sys::fs::current_path(error),
                                  .cache = environment::default_cache(),
                                  .progress = [&](std::string_view line) { notices.say(line); },
                                  .cancelled = cancelled});
  if (!prepared)
    return tl::unexpected(prepared.error().with_context(
        "environment " + environment::without_credentials(options.environment)));
  made.prepared_ = std::move(*prepared);
  if (made.in_container() && options.profile)
    return fail(Code::kUnsupported, "--profile does not reach into containers");
  return made;
}

std::vector<std::string> RunEnvironment::inherited() const {
  return environment::environment_with(sys::own_environment(), prepared_.environment);
}

Result<Command> RunEnvironment::resolve(const Options& options) const {
  Options inside = options;
  inside.command = TRY(environment::entry_command(prepared_, options.command));
  if (in_container())
    return Command{
        .argv = std::move(inside.command), .interpreter = {}, .record = prepared_.record};
  if (!prepared_.python.empty()) inside.python = prepared_.python;
  Command command = TRY(resolve_command(inside, find_variable(prepared_.environment, "PATH")));
  command.record = prepared_.record;
  return command;
}

Result<RunEnvironment::Start> RunEnvironment::start(const Command& command,
                                                    environment::Inside inside) {
  if (in_container()) {
    inside.environment = environment::passed_in(inside.environment, inside.chosen);
    auto staged = environment::stage(prepared_, command.argv, inside);
    if (staged) {
      container_ = environment::container_name(inside.spool);
      group_ = inside.cgroup_parent;
      Start start{.argv = std::move(staged->argv)};
      if (staged->place) start.first = static_cast<pid_t>(staged->place->pid);
      return start;
    }
    if (staged.error().code != Code::kUnsupported) return tl::unexpected(staged.error());
  }
  Start start{.argv = environment::wrap(prepared_, command.argv, inside)};
  const std::string path = find_variable(inherited(), "PATH");
  start.argv[0] = TRY(sys::find_in_path(start.argv[0], path)).string();
  return start;
}

std::optional<pid_t> RunEnvironment::locate() const {
  if (container_.empty()) return std::nullopt;
  const auto place = environment::locate(prepared_, container_);
  return place ? std::optional(static_cast<pid_t>(place->pid)) : std::nullopt;
}

std::optional<spool::ContainerAddress> RunEnvironment::address() const {
  if (container_.empty()) return std::nullopt;
  return spool::ContainerAddress{
      .program = environment::program_of(prepared_), .name = container_, .group = group_};
}

void RunEnvironment::end() const {
  if (container_.empty()) return;
  [[maybe_unused]] const auto gone = environment::discard(prepared_, container_, group_);
}

FirstProcess::FirstProcess(pid_t pid, bool waits)
    : pid_(pid),
      process_(sys::open_process(pid).value_or(sys::Fd())),
      waiting_(waits ? words() : std::string()) {}

std::string FirstProcess::words() const {
  return sys::read_file(fmt::format("/proc/{}/cmdline", pid_)).value_or("");
}

bool FirstProcess::executes() const {
  if (waiting_.empty()) return true;
  const std::string now = words();
  return !now.empty() && now != waiting_;
}

bool FirstProcess::ended() const {
  pollfd process{.fd = process_.get(), .events = POLLIN, .revents = 0};
  return process_ && ::poll(&process, 1, 0) == 1;
}

}  // namespace corral::run
