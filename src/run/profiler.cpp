#include "run/profiler.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {
namespace {

namespace fs = std::filesystem;

struct ToolEntry {
  ProfileTool tool;
  std::string_view name;
  std::string_view program;  // empty: none
  bool window;
};

constexpr auto kTools = std::to_array<ToolEntry>({
    {ProfileTool::kTorch, "torch", "", true},
    {ProfileTool::kNsys, "nsys", "nsys", true},
    {ProfileTool::kNcu, "ncu", "ncu", true},
    {ProfileTool::kNsysRaw, "nsysraw", "nsys", false},
    {ProfileTool::kNcuRaw, "ncuraw", "ncu", false},
    {ProfileTool::kNcuAttach, "ncuattach", "ncu", false},
});
constexpr std::int64_t kMostSteps = 1000;
constexpr std::int64_t kLastStep = 1'000'000'000'000;
// The folder of programs that CUDA's packages install.
constexpr std::string_view kCudaPrograms = ":/usr/local/cuda/bin";
constexpr int kCapSysAdmin = 21;

const ToolEntry& find_tool(ProfileTool tool) {
  return *std::ranges::find(kTools, tool, &ToolEntry::tool);
}

Error wrong(std::string_view text, std::string_view why) {
  return {
      .code = Code::kInvalidArgument,
      .message = fmt::format("--profile {}: {}; as torch, nsys:steps=100-103 or ncu", text, why)};
}

std::string all_names() {
  std::vector<std::string> names;
  names.reserve(kTools.size());
  for (const ToolEntry& entry : kTools) names.emplace_back(entry.name);
  return join(names, ", ");
}

// "100-103" or "100".
Result<> read_steps(std::string_view text, ProfilePlan& plan) {
  const std::size_t dash = text.find('-');
  const auto first = parse_int(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_int(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last > kLastStep)
    return fail(Code::kInvalidArgument, "steps are a range of numbers from 0");
  if (*last - *first >= kMostSteps)
    return fail(Code::kInvalidArgument, fmt::format("at most {} steps", kMostSteps));
  plan.first = *first;
  plan.last = *last;
  return {};
}

// Value of the first line "key: value"; nothing when the file or the line is not there.
std::optional<std::string> find_line(const fs::path& file, std::string_view key) {
  const auto text = sys::read_file(file, 1u << 20);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return std::string(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

bool may_administer(const fs::path& proc) {
  const auto text = find_line(proc / "self/status", "CapEff");
  std::uint64_t bits = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), bits, 16);
  return (bits >> kCapSysAdmin & 1) != 0;
}

// ncu reads the device's counters, which the driver may keep for administrators.
Result<> check_counters(const fs::path& proc) {
  if (find_line(proc / "driver/nvidia/params", "RmProfilingAdminOnly").value_or("0") == "0" ||
      may_administer(proc))
    return {};
  return fail(Code::kPermission,
              "Nvidia's driver keeps the performance counters for administrators "
              "(ERR_NVGPUCTRPERM): the administrator of this machine can load its module "
              "nvidia with NVreg_RestrictProfilingToAdminUsers=0, or this container can be given "
              "CAP_SYS_ADMIN");
}

std::vector<std::string> nsys_options(const ProfilePlan& plan, const fs::path& report) {
  // CPU sampling is off: it needs perf_event_paranoid 2 and costs the most.
  std::vector<std::string> options = {"profile",
                                      "--trace=cuda,nvtx",
                                      "--sample=none",
                                      "--cpuctxsw=none",
                                      "--cuda-memory-usage=true",
                                      "--force-overwrite=true",
                                      "--output=" + report.string()};
  if (plan.tool == ProfileTool::kNsys) {
    options.emplace_back("--capture-range=cudaProfilerApi");
    // The default, stop-shutdown, ends the command.
    options.emplace_back("--capture-range-end=stop");
  }
  return options;
}

std::vector<std::string> ncu_options(const ProfilePlan& plan, const fs::path& report) {
  if (plan.tool == ProfileTool::kNcuAttach) return {"--mode=launch"};
  std::vector<std::string> options = {"--target-processes", "all", "--force-overwrite", "--export",
                                      report.string()};
  if (plan.tool == ProfileTool::kNcu) {
    options.insert(options.end(), {"--profile-from-start", "off"});
  } else {
    options.insert(options.end(), {"--launch-count", "100"});  // the same as radT
  }
  return options;
}

}  // namespace

Result<ProfilePlan> parse_profile(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = trim(text.substr(0, colon));
  const auto* found = std::ranges::find(kTools, name, &ToolEntry::name);
  if (found == kTools.end()) return tl::unexpected(wrong(text, "the profilers are " + all_names()));
  ProfilePlan plan{.tool = found->tool};
  if (colon == std::string_view::npos) return plan;
  const std::string_view option = trim(text.substr(colon + 1));
  if (!found->window)
    return tl::unexpected(wrong(text, fmt::format("{} has no window of steps", name)));
  constexpr std::string_view kSteps = "steps=";
  if (!option.starts_with(kSteps))
    return tl::unexpected(wrong(text, fmt::format("'{}' is no option of a profiler", option)));
  if (const auto read = read_steps(option.substr(kSteps.size()), plan); !read)
    return tl::unexpected(wrong(text, read.error().message));
  return plan;
}

std::pair<std::string, std::string> split_profilers(std::string_view listeners) {
  std::string joined(listeners);
  std::ranges::replace(joined, ',', '+');
  std::vector<std::string> others;
  std::vector<std::string> profilers;
  for (const std::string_view part : split(joined, '+')) {
    const auto* found = std::ranges::find(kTools, trim(part), &ToolEntry::name);
    const bool profiler = found != kTools.end() && !found->program.empty();
    if (!trim(part).empty()) (profiler ? profilers : others).emplace_back(trim(part));
  }
  return {join(others, "+"), join(profilers, "+")};
}

std::string_view profiler_name(ProfileTool tool) { return find_tool(tool).name; }
bool has_window(ProfileTool tool) { return find_tool(tool).window; }

std::string profile_window(const ProfilePlan& plan) {
  if (!has_window(plan.tool)) return {};
  return fmt::format("{}:{}-{}", profiler_name(plan.tool), plan.first, plan.last);
}

std::string profile_id(const ProfilePlan& plan) {
  if (!has_window(plan.tool)) return std::string(profiler_name(plan.tool));
  return fmt::format("{}-{}-{}", profiler_name(plan.tool), plan.first, plan.last);
}

Result<fs::path> find_profiler(const ProfilePlan& plan, const std::string& path,
                               const fs::path& proc) {
  const ToolEntry& entry = find_tool(plan.tool);
  if (entry.program.empty()) return fs::path();
  auto found = sys::find_in_path(std::string(entry.program), path + std::string(kCudaPrograms));
  if (!found) {
    return fail(found.error().code,
                fmt::format("{}; it is Nvidia's {}, which comes with the CUDA toolkit or alone: "
                            "put its directory in PATH",
                            found.error().message,
                            entry.program == "nsys" ? "Nsight Systems" : "Nsight Compute"));
  }
  if (entry.program == "ncu") TRY(check_counters(proc));
  return std::move(*found);
}

std::vector<std::string> profiled_command(const ProfilePlan& plan, const fs::path& program,
                                          const fs::path& report,
                                          std::vector<std::string> command) {
  const bool nsys = find_tool(plan.tool).program == "nsys";
  std::vector<std::string> all = nsys ? nsys_options(plan, report) : ncu_options(plan, report);
  all.insert(all.begin(), program.string());
  all.insert(all.end(), std::make_move_iterator(command.begin()),
             std::make_move_iterator(command.end()));
  return all;
}

}  // namespace corral::run
