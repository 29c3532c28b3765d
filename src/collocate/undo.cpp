#include "collocate/undo.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "collocate/group_files.h"
#include "collocate/nvidia/undo.h"
#include "collocate/run_group.h"
#include "core/failpoint.h"
#include "core/text.h"
#include "sys/private_directory.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

constexpr std::array kHostHandlers = {
    KindHandler{.kind = "cgroup", .put_back = put_back_group, .in_use = users_of_group},
    KindHandler{.kind = "subtree-control", .put_back = put_back_controllers},
};

constexpr Nanos kGrace = std::chrono::seconds(2);

UndoLine undo_line(const Standing& standing, UndoState state, std::string reason = {}) {
  return {.words = standing.change.words, .state = state, .reason = std::move(reason)};
}

// Undoes one journal, in reverse.
class Replay {
 public:
  Replay(Journal& journal, const UndoOptions& options, UndoReport& report)
      : journal_(journal), options_(options), report_(report) {}

  // No entry of a journal is undone while a run still uses one: the loss of a clock or an instance
  // would spoil or end the run.
  void all(std::uint64_t first) {
    std::vector<Standing> entries;
    std::ranges::copy_if(journal_.standing(), std::back_inserter(entries),
                         [&](const Standing& standing) { return standing.entry >= first; });
    const std::string user = options_.end_runs ? end_runs(entries) : user_of(entries);
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (is_void(*entry)) {
        settle(*entry, UndoState::kVoid);
      } else if (!user.empty()) {
        report_.lines.push_back(undo_line(*entry, UndoState::kInUse, user));
      } else {
        one(*entry);
      }
    }
  }

 private:
  [[nodiscard]] bool is_void(const Standing& standing) const {
    const std::string boot = sys::boot_id();
    const std::string& then = journal_.content().boot_id;
    return !standing.change.outlives_reboot && !boot.empty() && !then.empty() && boot != then;
  }

  [[nodiscard]] std::string user_of(const std::vector<Standing>& entries) const {
    for (const Standing& entry : entries) {
      const KindHandler* handler = find_handler(entry.change.kind);
      if (handler == nullptr || handler->in_use == nullptr || is_void(entry)) continue;
      if (std::string user = handler->in_use(entry, options_); !user.empty()) return user;
    }
    const std::vector<sys::ProcessIdentity> live = commands(entries);
    if (live.empty()) return {};
    return fmt::format("process {} of a run is still running", live.front().pid);
  }

  // Ends the commands that still run; if a scheduler runs their plan, returns a reason with its
  // name instead.
  [[nodiscard]] std::string end_runs(const std::vector<Standing>& entries) const {
    const std::vector<sys::ProcessIdentity> live = commands(entries);
    if (live.empty()) return {};
    const std::string scheduler =
        options_.scheduler_of ? options_.scheduler_of(journal_.content().owner) : "";
    if (!scheduler.empty())
      return fmt::format("its plan is being run by {}: stop that first", scheduler);
    if (!options_.dry_run) end_commands(live, kGrace);
    return {};
  }

  // Returns the commands of the owner's runs; they do not matter once a restart has undone
  // everything.
  [[nodiscard]] std::vector<sys::ProcessIdentity> commands(
      const std::vector<Standing>& entries) const {
    const bool stands =
        std::ranges::any_of(entries, [&](const Standing& entry) { return !is_void(entry); });
    const JournalOwner& owner = journal_.content().owner;
    if (!stands || owner.plan.empty() || !options_.commands_of) return {};
    return options_.commands_of(owner);
  }

  void one(const Standing& standing) {
    const KindHandler* handler = find_handler(standing.change.kind);
    if (handler == nullptr) {
      report_.lines.push_back(
          undo_line(standing, UndoState::kFailed,
                    fmt::format("'{}' comes from another version of Corral: undo with that one",
                                standing.change.kind)));
      return;
    }
    const Result<bool> put = handler->put_back(standing, options_);
    failpoint::reach("undo.put_back");
    if (put) return settle(standing, *put ? UndoState::kPutBack : UndoState::kNothingLeft);
    if (put.error().code == Code::kPermission) ++report_.permissions;
    report_.lines.push_back(undo_line(standing, UndoState::kFailed, put.error().message));
  }

  void settle(const Standing& standing, UndoState state) {
    if (!options_.dry_run) {
      const Result<> noted = journal_.undone(standing.entry);
      if (!noted) report_.notes.push_back(noted.error().message);
    }
    report_.lines.push_back(undo_line(standing, state));
  }

  Journal& journal_;
  const UndoOptions& options_;
  UndoReport& report_;
};

std::string owner_text(const fs::path& path) {
  const auto content = Journal::read(path);
  return content ? fmt::format("process {}", content->pid) : path.string();
}

// Keeps a journal with unreadable lines for the user to look at, after its readable entries were
// undone.
void set_aside(Journal& journal, UndoReport& report) {
  report.notes.push_back(fmt::format("{}: {} line(s) cannot be read; their changes are unknown",
                                     journal.set_aside().string(), journal.content().unreadable));
}

void undo_file(const fs::path& path, const UndoOptions& options, UndoReport& report) {
  auto journal = Journal::adopt(path);
  if (!journal) {
    if (journal.error().code == Code::kNotFound) return;
    report.notes.push_back(journal.error().code == Code::kUnavailable
                               ? owner_text(path) + " still uses its changes"
                               : journal.error().message);
    return;
  }
  if (!options.commands_of && !journal->content().owner.plan.empty()) return;
  Replay(*journal, options, report).all(0);
  if (options.dry_run || !journal->standing().empty()) return;
  if (journal->content().unreadable > 0) return set_aside(*journal, report);
  if (const auto closed = journal->close(); !closed) report.notes.push_back(closed.error().message);
}

}  // namespace

bool UndoReport::complete() const {
  return looked && std::ranges::none_of(lines, [](const UndoLine& line) {
           return line.state == UndoState::kInUse || line.state == UndoState::kFailed;
         });
}

const KindHandler* find_handler(std::string_view kind) {
  const auto* found = std::ranges::find(kHostHandlers, kind, &KindHandler::kind);
  if (found != kHostHandlers.end()) return found;
  for (const KindHandler& handler : nvidia::handlers()) {
    if (handler.kind == kind) return &handler;
  }
  return nullptr;
}

UndoReport undo_all(const UndoOptions& options) {
  UndoReport report;
  // The latest change is undone first.
  auto files = Journal::files(options.state);
  if (!files && files.error().code != Code::kNotFound) {
    report.looked = false;
    report.notes.push_back(files.error().message);
  }
  if (!files) return report;
  std::ranges::reverse(*files);
  for (const fs::path& path : *files) undo_file(path, options, report);
  return report;
}

Result<> put_back(Journal& journal, std::uint64_t first, const UndoOptions& options) {
  UndoReport report;
  Replay(journal, options, report).all(first);
  std::vector<std::string> failures;
  for (const UndoLine& line : report.lines) {
    if (line.state == UndoState::kFailed || line.state == UndoState::kInUse)
      failures.push_back(line.words + ": " + line.reason);
  }
  failures.insert(failures.end(), report.notes.begin(), report.notes.end());
  if (failures.empty()) return {};
  return fail(report.permissions > 0 ? Code::kPermission : Code::kUnavailable,
              "not undone (retry with `corral undo`): " + join(failures, "; "));
}

std::string permission_advice(const fs::path& state) {
  return fmt::format(
      "this needs root (CAP_SYS_ADMIN). Root does not follow "
      "another user's journal: ask an administrator to undo "
      "these changes by hand; {} lists them",
      state.string());
}

fs::path default_state() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path chosen;
  if (state != nullptr && *state == '/') {
    chosen = fs::path(state) / "corral";
  } else if (home != nullptr && *home == '/') {
    chosen = fs::path(home) / ".local" / "state" / "corral";
  }
  // Root may have another user's home, in a container or by sudo -E.
  const auto own = sys::PrivateDirectory::open(chosen);
  if (!chosen.empty() && (own || own.error().code != Code::kPermission)) return chosen;
  return fs::path("/var/tmp") / fmt::format("corral-{}", ::geteuid());
}

}  // namespace corral::collocate
