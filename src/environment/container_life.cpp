// A container's life, driven through its tool: made before the start, found, taken away.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/text.h"
#include "environment/container.h"
#include "environment/tool.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

constexpr int kPollMs = 50;
constexpr int kGroupTries = 400;
constexpr int kGroupPauseMs = 5;
constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr const char* kMaker = "corral.supervisor";
constexpr const char* kSpool = "corral.spool";
constexpr Nanos kAnswerLimit{std::chrono::seconds(30)};

Result<const Container*> engine_of(const Prepared& prepared) {
  const Container* const container = prepared.container.get();
  if (container == nullptr || is_apptainer(*container))
    return fail(Code::kUnsupported, "its command is a child like any other");
  return container;
}

// The first process of a container that has one, 0 while it has none.
Result<std::int64_t> pid_of(const Container& container, const std::string& name) {
  const ToolOutput output =
      TRY(run_tool({.argv = tool_words(container, {"inspect", "--type=container",
                                                   "--format={{.State.Pid}}", name}),
                    .limit = std::chrono::seconds(30)},
                   {}));
  return output.code == 0 ? parse_int(trim(output.out)).value_or(0) : 0;
}

Result<ContainerPlace> place_of(std::int64_t pid) {
  const auto groups = sys::read_file(fmt::format("/proc/{}/cgroup", pid), 1u << 20);
  if (!groups)
    return fail(Code::kUnsupported,
                fmt::format("the container's process {} is not on this host", pid));
  ContainerPlace place{.pid = pid, .cgroups = {}};
  for (const std::string_view line : split(*groups, '\n'))
    if (!line.empty()) place.cgroups.emplace_back(line);
  return place;
}

// Podman's monitor may still be about to leave it.
void remove_empty(const std::string& group) {
  for (int i = 0; i < kGroupTries && ::rmdir(group.c_str()) != 0 && errno == EBUSY; ++i)
    ::poll(nullptr, 0, kGroupPauseMs);
}

// Podman makes the parent in every hierarchy, and a group for its monitor in it. Those go when they
// are empty; the directories that `cgroup_parent` names are their maker's.
void remove_groups(const std::string& cgroup_parent) {
  const std::string group = group_name(cgroup_parent);
  if (group.size() < 2) return;
  const std::vector<std::string_view> kept = split(cgroup_parent, ':');
  for (const std::string& hierarchy : sys::list_directory(kGroups)) {
    const std::string parent = fmt::format("{}/{}{}", kGroups, hierarchy, group);
    remove_empty(parent + "/conmon");
    if (std::ranges::count(kept, parent) == 0) remove_empty(parent);
  }
  remove_empty(kGroups + group + "/conmon");
}

Result<Staged> staged(const Container& container, const std::string& name) {
  Staged made;
  made.argv = tool_words(container, {"start", "--attach", "--interactive", name});
  if (container.tool != "podman") return made;
  TRY(run_checked({.argv = tool_words(container, {"init", name})}, {}));
  const std::int64_t pid = TRY(pid_of(container, name));
  if (pid > 0) made.place = TRY(place_of(pid));
  return made;
}

}  // namespace

Result<ContainerPlace> locate(const Prepared& prepared, const std::string& name, Nanos limit) {
  const Container& container = *TRY(engine_of(prepared));
  const BootTime deadline = sys::boot_now() + limit;
  for (;;) {
    const std::int64_t pid = TRY(pid_of(container, name));
    if (pid > 0) return place_of(pid);
    if (sys::boot_now() >= deadline)
      return fail(Code::kNotFound,
                  fmt::format("{} has no running container {}", container.tool, name));
    ::poll(nullptr, 0, kPollMs);
  }
}

Result<Staged> stage(const Prepared& prepared, const std::vector<std::string>& command,
                     const Inside& inside) {
  const Container& container = *TRY(engine_of(prepared));
  const std::string name = inside.name.empty() ? container_name(inside.spool) : inside.name;
  Tool create{
      .argv = tool_words(container, {"create", "--label=" + maker_label(),
                                     fmt::format("--label={}={}", kSpool, inside.spool.string())}),
      .environment = inside.environment};
  const std::vector<std::string> rest = run_words(container, command, inside);
  create.argv.insert(create.argv.end(), rest.begin(), rest.end());
  TRY(run_checked(create, {}));
  auto made = staged(container, name);
  if (!made) [[maybe_unused]]
    const auto gone = discard(prepared, name, inside.cgroup_parent);
  return made;
}

std::string maker_label() {
  const auto self = sys::identity_of(::getpid());
  if (!self) return std::string(kMaker) + "=";
  return fmt::format("{}={}.{}.{}", kMaker, self->pid, self->start_ticks, self->boot_id);
}

bool is_gone(std::string_view maker) {
  const std::vector<std::string_view> parts = split(maker, '.');
  if (parts.size() != 3) return false;
  const auto pid = parse_int(parts[0]);
  const auto ticks = parse_int(parts[1]);
  if (!pid || !ticks) return false;
  return !sys::is_alive({.pid = static_cast<pid_t>(*pid),
                         .start_ticks = static_cast<std::uint64_t>(*ticks),
                         .boot_id = std::string(parts[2])});
}

namespace {

// "NAME|MAKER|STATE|SPOOL", where podman prints "Exited (0) 2 hours ago": the container is no
// longer needed. One that has ended is kept until its run is finished: the finishing process asks
// for its exit status.
bool is_left(std::string_view line) {
  const std::vector<std::string_view> words = split(line, '|');
  if (words.size() < 4 || !is_gone(words[1])) return false;
  const std::string state = lower_ascii(words[2]);
  if (state.starts_with("created") || state.starts_with("initialized")) return true;
  const std::string_view spool =
      line.substr(static_cast<std::size_t>(words[3].data() - line.data()));
  std::error_code error;
  return !fs::exists(fs::path(spool) / "manifest.json", error);
}

}  // namespace

void sweep(const Container& container) {
  const bool podman = container.tool == "podman";
  std::vector<std::string> words =
      tool_words(container, {"ps", "--all", "--filter=status=created", "--filter=status=exited"});
  if (podman) words.insert(words.end(), {"--filter=status=initialized", "--filter=status=stopped"});
  words.push_back(std::string("--filter=label=") + kMaker);
  const char* const label = podman ? "{{{{index .Labels \"{}\"}}}}" : "{{{{.Label \"{}\"}}}}";
  words.push_back("--format={{.Names}}|" + fmt::format(fmt::runtime(label), kMaker) +
                  "|{{.State}}|" + fmt::format(fmt::runtime(label), kSpool));
  const auto listed = run_tool({.argv = words, .limit = kAnswerLimit}, {});
  if (!listed || listed->code != 0) return;
  for (const std::string_view line : split(listed->out, '\n')) {
    if (!is_left(line)) continue;
    // Someone else's sweep may have been faster.
    [[maybe_unused]] const auto removed =
        run_tool({.argv = tool_words(
                      container, {"rm", "--force", std::string(line.substr(0, line.find('|')))}),
                  .limit = kAnswerLimit},
                 {});
  }
}

Prepared of_container(std::vector<std::string> program) {
  Container container;
  container.tool = fs::path(program.at(0)).filename().string();
  container.program = std::move(program);
  Prepared prepared;
  prepared.in_container = true;
  prepared.container = std::make_shared<const Container>(std::move(container));
  return prepared;
}

std::vector<std::string> program_of(const Prepared& prepared) {
  return prepared.container != nullptr ? prepared.container->program : std::vector<std::string>();
}

Result<int> exit_status_of(const Prepared& prepared, const std::string& name) {
  const Container& container = *TRY(engine_of(prepared));
  const ToolOutput output =
      TRY(run_checked({.argv = tool_words(container, {"wait", name}), .limit = kAnswerLimit}, {}));
  const auto status = parse_int(trim(output.out));
  if (!status || *status < 0 || *status > 255)
    return fail(Code::kUnprocessable,
                fmt::format("{} reports no exit status of {}", container.tool, name));
  return static_cast<int>(*status);
}

Result<> discard(const Prepared& prepared, const std::string& name,
                 const std::string& cgroup_parent) {
  const auto engine = engine_of(prepared);
  if (!engine) return {};
  std::vector<std::string> words = tool_words(**engine, {"rm", "--force"});
  if ((*engine)->tool == "podman") words.insert(words.end(), {"--ignore", "--time=0"});
  words.push_back(name);
  const ToolOutput output = TRY(run_tool({.argv = words, .limit = std::chrono::minutes(1)}, {}));
  if (output.code != 0 && lower_ascii(output.err).find("no such container") == std::string::npos)
    return fail(Code::kUnavailable,
                fmt::format("container {} cannot be removed: {}", name, last_lines(output.err, 1)));
  remove_groups(cgroup_parent);
  return {};
}

}  // namespace corral::environment
