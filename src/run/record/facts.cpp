#include "run/record/facts.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "core/cpu_list.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/fact.h"
#include "run/set_up/noise.h"
#include "run/set_up/packages.h"
#include "run/set_up/secrets.h"
#include "run/set_up/set_up.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::run {
namespace {

using codec::Fact;
using codec::FactKind;
using set_up::info;

// Limit of an environment's list: every line end takes two bytes of JSON.
constexpr std::size_t kRecordBytes = limits::kFactBytes * 3 / 4;

std::string user_name() {
  std::vector<char> buffer(4096);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(::geteuid());
}

// Returns the words of a command line, cut to the size of a fact (limits::kValueBytes of JSON) with
// the number of omitted words.
Json command_words(const std::vector<std::string>& words) {
  constexpr std::size_t kWordBytes = 2000;
  constexpr std::size_t kRoom = limits::kValueBytes - 100;  // brackets, and how much is missing
  Json::Array kept;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = to_utf8(words[i]);
    if (word.size() > kWordBytes)
      word = word.substr(0, utf8_prefix(std::string_view(word).substr(0, kWordBytes))) + "…";
    Json json(std::move(word));
    bytes += json.dump().size() + 1;
    if (bytes > kRoom) {
      kept.emplace_back(fmt::format("… ({} more)", words.size() - i));
      break;
    }
    kept.push_back(std::move(json));
  }
  return kept;
}

// Returns the command line of a process; empty if it is gone.
std::vector<std::string> read_command_line(std::int64_t pid) {
  std::vector<std::string> words;
  const auto text = sys::read_file(fmt::format("/proc/{}/cmdline", pid), 1u << 20);
  if (!text) return words;
  std::string_view rest = *text;
  if (rest.ends_with('\0')) rest.remove_suffix(1);
  for (const std::string_view word : split(rest, '\0')) words.emplace_back(word);
  return words;
}

// Adds the names of `pairs`, which the command line gave, one in each line; all others come from
// the script.
void add_given(std::string key, const std::vector<std::pair<std::string, std::string>>& pairs,
               std::vector<Fact>& facts) {
  std::string names;
  for (const auto& [name, value] : pairs)
    if (name.find('\n') == std::string::npos) names += name + "\n";
  if (!names.empty()) facts.push_back(info(std::move(key), set_up::cut_lines(names, kRecordBytes)));
}

}  // namespace

std::vector<Fact> quick_facts(const Options& options, const Command& command) {
  std::vector<Fact> facts;
  set_up::Mask params_mask(options.mask);
  for (auto& [key, value] : params_mask.params(options.params))
    facts.push_back({.kind = FactKind::kParam, .key = key, .value = value});
  for (const auto& [key, value] : options.tags)
    facts.push_back({.kind = FactKind::kTag, .key = key, .value = value});
  add_given("given.params", options.params, facts);
  add_given("given.tags", options.tags, facts);
  utsname kernel{};
  ::uname(&kernel);
  const auto memory = set_up::proc_bytes("/proc/meminfo", "MemTotal");
  set_up::Mask mask(options.mask);
  facts.push_back(info(
      "command", command_words(mask.words(options.watched > 0 ? read_command_line(options.watched)
                                                              : options.command))));
  facts.push_back(info("executable", to_utf8(command.argv[0])));
  facts.push_back(info("directory", to_utf8(start_folder(options).string())));
  facts.push_back(info("user", user_name()));
  facts.push_back(
      info("kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)));
  facts.push_back(info("cpu", set_up::proc_value("/proc/cpuinfo", "model name").value_or("")));
  facts.push_back(info("cpus", static_cast<std::int64_t>(std::thread::hardware_concurrency())));
  facts.push_back(info("memory_bytes", memory ? Json(*memory) : Json()));
  if (!command.interpreter.empty()) facts.push_back(info("interpreter", command.interpreter));
  for (const auto& [key, value] : command.record)
    facts.push_back(info(key, set_up::cut_lines(mask.text(to_utf8(value)), kRecordBytes)));
  for (const auto& prices : options.sources.footprint)
    for (const auto& [key, value] : price_facts(prices)) facts.push_back(info(key, value));
  set_up::add_masked("command", mask, facts);
  set_up::add_masked("params", params_mask, facts);
  return facts;
}

set_up::KeptCode make_kept_code(const Options& options, const Command& command,
                                const spool::RunDirectory& directory, std::int64_t started_ns) {
  const char* python_path = std::getenv("PYTHONPATH");
  set_up::CodeSubject subject{
      .words = options.watched > 0 ? read_command_line(options.watched) : options.command,
      .interpreter = command.interpreter,
      .directory = start_folder(options),
      .python_path = python_path != nullptr ? python_path : "",
      .own = {directory.path().parent_path()},
      .limit = options.keep_code,
      .mask = options.mask,
      .started_ns = started_ns};
  if (const auto& store = options.destination.store; !store.empty()) subject.own.push_back(store);
  return {std::move(subject), directory.files(), directory.manifest().run};
}

std::vector<Fact> slow_facts(const Options& options, const Command& command,
                             set_up::KeptCode& code) {
  return set_up::facts(
      {.interpreter = command.interpreter,
       .prepared = command.record,
       .command = command.argv,
       .directory = options.directory,
       .mask = options.mask,
       .cpus = format_cpu_list(options.placement.cpus),
       .code = code.facts(),
       .refused = code.refused(),
       .add_diff = [&](std::string_view piece) { code.add_diff(piece); },
       .refuse_diff = [&](const std::string& reason) { code.refuse_diff(reason); }});
}

std::vector<spool::fs::path> noted_modules(const spool::RunDirectory& directory) {
  constexpr std::size_t kMost = 4u << 20;
  const auto list = directory.files().read_file("modules", kMost);
  std::set<std::string_view> names;
  if (list)
    for (const std::string_view name : split(*list, '\0'))
      if (!name.empty()) names.insert(name);
  return {names.begin(), names.end()};
}

std::vector<Fact> changed_code_facts(std::vector<Fact> facts, const Command& command,
                                     const set_up::KeptCode& code) {
  return set_up::changed_code_facts(
      std::move(facts),
      {.interpreter = command.interpreter, .prepared = command.record, .code = code.facts()});
}

std::vector<Fact> data_facts(const Options& options, const Command& command,
                             const std::function<bool()>& stop) {
  return set_up::data_hashes(set_up::data_options(command.argv), start_folder(options), stop);
}

// ---- The overhead of the collectors

namespace {

// Below these, the cost is that of any run: it is in the run's facts alone. A supervisor that
// starts takes more of a core than one that samples, and of a few dozen samples some are late by
// chance.
constexpr double kManyCores = 0.05;
constexpr Nanos kLongEnough{std::chrono::seconds(10)};
constexpr double kManyLate = 0.05;
constexpr std::uint64_t kEnoughTicks = 100;

// 36000 -> "36,000"
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

double cores_of(const CollectingCost& cost) {
  return cost.wall > Nanos(0) ? seconds(cost.cpu) / seconds(cost.wall) : 0;
}

Json count(std::uint64_t number) { return Json(static_cast<std::int64_t>(number)); }

}  // namespace

CollectingCost measure_cost(const collect::Lanes& lanes, Nanos wall, std::uint64_t written) {
  collect::Lateness lateness;
  lanes.merge_lateness(lateness);
  return {.cpu = sys::process_cpu_time(),
          .wall = wall,
          // getrusage would count what the parent had before exec.
          .peak_memory = static_cast<std::uint64_t>(
              set_up::proc_bytes("/proc/self/status", "VmHWM").value_or(0)),
          .written = written,
          .ticks = lanes.ticks(),
          .lateness_p50 = lateness.quantile(0.5),
          .lateness_p99 = lateness.quantile(0.99),
          .lateness_greatest = lateness.greatest()};
}

std::string cost_summary(const CollectingCost& cost) {
  const double late = static_cast<double>(cost.ticks.late) /
                      static_cast<double>(std::max<std::uint64_t>(cost.ticks.due, 1));
  if (cost.ticks.due >= kEnoughTicks && late >= kManyLate)
    return fmt::format("{:.0f} % of {} samples were late: short peaks may be missing", 100 * late,
                       grouped(cost.ticks.due));
  if (cost.wall >= kLongEnough && cores_of(cost) >= kManyCores)
    return fmt::format("recording took {:.0f} % of a core", 100 * cores_of(cost));
  return "";
}

std::vector<codec::Fact> cost_facts(const CollectingCost& cost) {
  std::vector<codec::Fact> facts{info("collecting_cpu_seconds", seconds(cost.cpu)),
                                 info("collecting_cores", cores_of(cost)),
                                 info("collecting_bytes", count(cost.written)),
                                 info("collecting_ticks", count(cost.ticks.due)),
                                 info("collecting_ticks_late", count(cost.ticks.late))};
  if (cost.peak_memory > 0)
    facts.push_back(info("collecting_memory_bytes", count(cost.peak_memory)));
  for (const auto& [key, time] : {std::pair{"collecting_lateness_p50_seconds", cost.lateness_p50},
                                  {"collecting_lateness_p99_seconds", cost.lateness_p99},
                                  {"collecting_lateness_max_seconds", cost.lateness_greatest}})
    facts.push_back(info(key, seconds(time)));
  return facts;
}

}  // namespace corral::run
