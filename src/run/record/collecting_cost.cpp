#include "run/record/collecting_cost.h"

#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "run/set_up/fact.h"
#include "run/set_up/noise.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

using set_up::info;

constexpr std::uint64_t kFewLate = 100;  // late ticks are few up to one in this many

// 36000 -> "36,000"
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

double cores_of(const CollectingCost& cost) {
  return cost.wall > Nanos(0) ? seconds(cost.cpu) / seconds(cost.wall) : 0;
}

// Returns a note that late ticks add noise to the numbers; empty if they are few.
std::string lateness_note(const CollectingCost& cost) {
  if (cost.ticks.late * kFewLate <= cost.ticks.due) return "";
  return fmt::format(
      " ({:.0f} %, 1 in 100 by more than {:.2g} s): values are further apart than asked for, rates "
      "and maxima over less than a second are noisy, totals and means are not",
      100 * static_cast<double>(cost.ticks.late) / static_cast<double>(cost.ticks.due),
      seconds(cost.lateness_p99));
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
  const std::string memory =
      cost.peak_memory > 0 ? human_bytes(static_cast<double>(cost.peak_memory)) + " of memory and "
                           : "";
  return fmt::format("collector overhead {:.2f} % of a core, {}{} of data; {} of {} samples late{}",
                     100 * cores_of(cost), memory, human_bytes(static_cast<double>(cost.written)),
                     grouped(cost.ticks.late), grouped(cost.ticks.due), lateness_note(cost));
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
