#include "collocate/account.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "collocate/run_group.h"
#include "core/text.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(3);

// One unit of the user's own systemd that holds the process; it goes when its last process ends.
// Asked over the bus, because systemd-run would start the command itself.
std::vector<std::string> scope_call(const std::string& busctl, const std::string& unit, pid_t pid) {
  return {busctl, "--user", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
          "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", unit,
          "fail",
          // Properties: the processes; what counts.
          "4", "PIDs", "au", "1", std::to_string(pid), "CPUAccounting", "b", "1",
          "MemoryAccounting", "b", "1", "CollectMode", "s", "inactive-or-failed",
          // No units beside it.
          "0"};
}

Result<std::string> find_busctl(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  if (std::getenv("DBUS_SESSION_BUS_ADDRESS") == nullptr &&
      std::getenv("XDG_RUNTIME_DIR") == nullptr)
    return fail(Code::kUnsupported, "no systemd of this user answers here");
  const char* path = std::getenv("PATH");
  const auto found = sys::find_in_path("busctl", path == nullptr ? "" : path);
  if (!found) return fail(Code::kUnsupported, "there is no busctl to ask systemd with");
  return found->string();
}

}  // namespace

Result<> AccountGroup::enter(pid_t pid) {
  if (scope_.empty()) return enter_group(target_, pid);
  int status = 0;
  const auto said = sys::capture_output(
      {.argv = scope_call(busctl_, scope_, pid), .directory = {}, .limit = kPatience}, &status);
  if (!said) return tl::unexpected(said.error().with_context("systemd scope"));
  if (status != 0)
    return fail(Code::kUnavailable, fmt::format("systemd refuses a scope (busctl: {})", status));
  return {};
}

Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options) {
  const GroupTree tree = TRY(GroupTree::read(options.root));
  AccountGroup group;
  const auto plan = plan_group(tree, options.label, {});
  if (plan) {
    TRY(note_groups({&*plan}, journal));
    TRY(make_group(*plan));
    group.target_ = plan->target();
    return group;
  }
  auto busctl = find_busctl(options.busctl);
  if (!busctl) return fail(plan.error().code, plan.error().message + "; " + busctl.error().message);
  group.busctl_ = *std::move(busctl);
  group.scope_ = fmt::format("corral-{}.scope", options.label);
  return group;
}

}  // namespace corral::collocate
