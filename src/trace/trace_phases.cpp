#include "trace/trace_phases.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "codec/device_lane.h"
#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::trace {
namespace {

using codec::PhaseKind;

// Beyond, a phase has the type of the one around it, as those of Corral's capture.
constexpr std::size_t kPathBytes = 900;

// Fate: an event becomes a phase of this kind and name, or is left out for a reason.
struct Fate {
  std::string_view left_out = {};
  PhaseKind kind = PhaseKind::kCompute;
  std::string_view name = {};  // empty: its own
};

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

bool is_communication(std::string_view name) {
  return contains_any(lower_ascii(name), {"nccl", "rccl"});
}

// The device's part of a trace; a PyTorch without Kineto names a process instead.
bool is_of_device(const ChromeEvent& event) {
  constexpr auto kCategories = std::to_array<std::string_view>(
      {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"});
  return std::ranges::find(kCategories, event.category) != kCategories.end() ||
         (event.category.empty() && event.process == "CUDA functions");
}

bool is_runtime(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime";
}

// Marks that Kineto puts beside what happened.
bool is_mark(std::string_view category) {
  constexpr auto kMarks = std::to_array<std::string_view>(
      {"overhead", "Trace", "external_correlation", "cuda_sync", "cuda_event",
       "cuda_profiler_range", "mtia_ccp_events", "mtia_insight"});
  return std::ranges::find(kMarks, category) != kMarks.end();
}

bool is_operator(const ChromeEvent& event) {
  if (event.category == "cpu_op" || event.category == "Operator") return true;
  return event.category.empty() && event.process == "CPU functions" &&
         event.name.find('#') == std::string_view::npos;
}

// A call in which the thread waits until the device is done.
bool waits_for_device(std::string_view name) {
  if (name.find("ynchronize") != std::string_view::npos) return true;
  const bool copies = name.find("Memcpy") != std::string_view::npos;
  return copies && name.find("Async") == std::string_view::npos;
}

Fate fate_of_annotation(std::string_view name) {
  if (name.starts_with("ProfilerStep#")) return {.name = "step"};
  if (name.starts_with("enumerate(DataLoader)#"))
    return {.kind = PhaseKind::kWait, .name = "data wait"};
  if (name.starts_with("Optimizer.step#")) return {.name = "optimizer"};
  return {.kind = is_communication(name) ? PhaseKind::kComm : PhaseKind::kCompute};
}

Fate fate_of(const ChromeEvent& event, bool operators) {
  if (is_of_device(event)) {
    const bool copies = event.category == "gpu_memcpy" || event.category == "gpu_memset";
    return {.kind = copies                         ? PhaseKind::kIo
                    : is_communication(event.name) ? PhaseKind::kComm
                                                   : PhaseKind::kCompute};
  }
  if (is_runtime(event.category)) {
    if (!waits_for_device(event.name)) return {.left_out = "runtime calls"};
    return {.kind = PhaseKind::kWait};
  }
  if (is_operator(event)) {
    if (!operators) return {.left_out = "operators"};
    const bool between_ranks = contains_any(event.name, {"c10d::", "nccl:", "gloo:"});
    return {.kind = between_ranks ? PhaseKind::kComm : PhaseKind::kCompute};
  }
  if (event.category == "python_function") return {.left_out = "Python functions"};
  if (event.category == "gpu_user_annotation") return {.left_out = "annotations of devices"};
  if (is_mark(event.category)) return {.left_out = "marks of the profiler"};
  return fate_of_annotation(event.name);
}

// Valid, not too long, and no separator of paths.
std::string path_part(std::string_view text) {
  std::string part = mlflow::phase_text(text, limits::kNameBytes);
  std::ranges::replace(part, '/', '|');
  return part;
}

std::string join_key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) (key += part) += '\0';
  return key;
}

// Surrounding phases of one lane, to find the parent of each next one.
class Surroundings {
 public:
  struct Around {
    std::uint64_t id = 0;  // 0: none
    std::string type;
  };

  // The innermost phase that holds all of [begin, end].
  Around* around(std::int64_t begin, std::int64_t end) {
    while (!open_.empty() && open_.back().end <= begin) open_.pop_back();
    for (std::size_t i = open_.size(); i-- > 0;)
      if (open_[i].end >= end && open_[i].end > begin) return &open_[i].phase;
    return nullptr;
  }
  void push(std::int64_t end, Around phase) { open_.push_back({end, std::move(phase)}); }

 private:
  struct Open {
    std::int64_t end;
    Around phase;
  };
  std::vector<Open> open_;
};

}  // namespace

void TracePhases::add(const ChromeEvent& event) {
  ++counts_.events;
  switch (event.phase) {
    case 'M':
      return add_metadata(event);
    case 'X':
      return add_complete(event);
    case 'B': {
      const std::size_t kept = keep(event);
      // Its end is to find it even when it is left out.
      lanes_[lane_of(event, Place::kThread)].begun.push_back(kept);
      return;
    }
    case 'E':
      return end_one(lanes_[lane_of(event, Place::kThread)].begun, event);
    case 'b':
    case 'S':
      asynchronous_[join_key({event.process, event.category, event.id})].push_back(keep(event));
      return;
    case 'e':
    case 'F': {
      const auto begun = asynchronous_.find(join_key({event.process, event.category, event.id}));
      std::vector<std::size_t> none;
      end_one(begun == asynchronous_.end() ? none : begun->second, event);
      if (begun != asynchronous_.end() && begun->second.empty()) asynchronous_.erase(begun);
      return;
    }
    case 's':
    case 't':
    case 'f':
      ++counts_.left_out["flows"];
      return;
    case 'C':
      ++counts_.left_out["counters"];
      return;
    case 'i':
    case 'I':
    case 'R':
    case 'n':
      ++counts_.left_out["instants"];
      return;
    default:
      ++counts_.left_out["events of other kinds"];
  }
}

void TracePhases::add_metadata(const ChromeEvent& event) {
  if (event.name == "process_name") process_names_[std::string(event.process)] = event.label;
  if (event.name == "thread_name")
    thread_names_[join_key({event.process, event.thread})] = event.label;
}

void TracePhases::add_complete(const ChromeEvent& event) {
  if (is_runtime(event.category) && event.correlation && event.time_ns)
    launches_.push_back({.correlation = *event.correlation,
                         .begin = *event.time_ns,
                         .driver = event.category.ends_with("_driver")});
  const std::size_t index = keep(event);
  if (index == kNotKept) return;
  Kept& kept = kept_[index];
  std::int64_t end = 0;
  const std::int64_t length = std::max<std::int64_t>(0, event.length_ns.value_or(0));
  kept.open = !event.length_ns || __builtin_add_overflow(kept.begin, length, &end);
  if (!kept.open) kept.end = end;
}

void TracePhases::end_one(std::vector<std::size_t>& begun, const ChromeEvent& event) {
  if (begun.empty()) {
    ++counts_.left_out["ends without a begin"];
    return;
  }
  const std::size_t index = begun.back();
  begun.pop_back();
  if (index == kNotKept || !event.time_ns) return;
  kept_[index].end = std::max(kept_[index].begin, *event.time_ns);
  kept_[index].open = false;
}

std::size_t TracePhases::keep(const ChromeEvent& event) {
  const Fate fate = fate_of(event, options_.operators);
  const std::string_view reason = !fate.left_out.empty() ? fate.left_out
                                  : !event.time_ns       ? "events without a usable time"
                                  : kept_.size() >= options_.most_phases ? "phases beyond the most"
                                                                         : "";
  if (!reason.empty()) {
    ++counts_.left_out[std::string(reason)];
    return kNotKept;
  }
  const bool of_device = is_of_device(event);
  const Place place = of_device                                  ? Place::kStream
                      : event.phase == 'b' || event.phase == 'S' ? Place::kAsynchronous
                                                                 : Place::kThread;
  Kept kept{.begin = *event.time_ns,
            .end = *event.time_ns,
            .id = counts_.events,
            .name = text_number(!fate.name.empty()   ? fate.name
                                : event.name.empty() ? std::string_view("event")
                                                     : event.name),
            .lane = lane_of(event, place),
            .kind = fate.kind,
            .open = true};
  if (of_device) {
    kept.numbered = event.correlation.has_value();
    kept.number = event.correlation.value_or(0);
  } else if (fate.name == "step") {
    const auto number = parse_int(event.name.substr(event.name.find('#') + 1));
    kept.numbered = number.has_value();
    kept.number = number.value_or(0);
    ++counts_.steps;
  }
  kept_.push_back(kept);
  return kept_.size() - 1;
}

std::uint32_t TracePhases::lane_of(const ChromeEvent& event, Place place) {
  const bool stream = place == Place::kStream;
  const std::string process =
      stream && event.device ? std::to_string(*event.device) : std::string(event.process);
  const std::string thread = place == Place::kAsynchronous ? std::string(event.category)
                             : stream && event.stream      ? std::to_string(*event.stream)
                                                           : std::string(event.thread);
  const std::string key = join_key({process, thread,
                                    stream                    ? "s"
                                    : place == Place::kThread ? "t"
                                                              : "a"});
  const auto [known, fresh] =
      lane_numbers_.try_emplace(key, static_cast<std::uint32_t>(lanes_.size()));
  if (fresh) lanes_.push_back({.process = process, .thread = thread, .place = place});
  return known->second;
}

std::uint32_t TracePhases::text_number(std::string_view text) {
  key_ = mlflow::phase_text(text, limits::kNameBytes);
  if (key_.empty()) key_ = "event";
  const auto [known, fresh] =
      text_numbers_.try_emplace(key_, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(key_);
  return known->second;
}

// UTC; phases at times that no frame carries are left out.
void TracePhases::place_in_time(const ChromeHeader& header) {
  constexpr std::int64_t kFirst = mlflow::kFirstClientMs * 1'000'000,
                         kLast = mlflow::kLastClientMs * 1'000'000;
  const std::size_t before = kept_.size();
  std::erase_if(kept_, [&](Kept& kept) {
    const bool overflows = __builtin_add_overflow(kept.begin, header.base_ns, &kept.begin) ||
                           __builtin_add_overflow(kept.end, header.base_ns, &kept.end);
    return overflows || std::min(kept.begin, kept.end) < kFirst ||
           std::max(kept.begin, kept.end) > kLast;
  });
  if (kept_.size() < before)
    counts_.left_out["events before 1965 or after 2110"] = before - kept_.size();
  std::erase_if(launches_, [&](Launch& launch) {
    return __builtin_add_overflow(launch.begin, header.base_ns, &launch.begin);
  });
}

void TracePhases::find_launches() {
  std::ranges::sort(launches_, {},
                    [](const Launch& one) { return std::tuple(one.correlation, one.begin); });
  std::vector<Launch> outer;
  for (const Launch& launch : launches_) {
    const bool inner = launch.driver && !outer.empty() && !outer.back().driver &&
                       outer.back().correlation == launch.correlation;
    if (!inner) outer.push_back(launch);
  }
  launches_ = std::move(outer);
  for (Kept& kept : kept_) {
    if (lanes_[kept.lane].place != Place::kStream || !kept.numbered) continue;
    // A number that comes again is that of the last launch before.
    const auto first = std::ranges::lower_bound(launches_, kept.number, {}, &Launch::correlation);
    const auto end = std::upper_bound(
        first, launches_.end(), kept.number,
        [](std::int64_t number, const Launch& one) { return number < one.correlation; });
    auto launch =
        std::upper_bound(first, end, kept.begin,
                         [](std::int64_t time, const Launch& one) { return time < one.begin; });
    if (launch != first) --launch;
    kept.numbered =
        first != end && !__builtin_sub_overflow(kept.begin, launch->begin, &kept.number);
  }
  launches_ = {};
}

std::string TracePhases::lane_name(const Lane& lane, bool kineto) const {
  const auto thread = thread_names_.find(join_key({lane.process, lane.thread}));
  std::string thread_name = "thread " + lane.thread;
  if (thread != thread_names_.end() && !thread->second.empty()) {
    const bool tells = thread->second.find(lane.thread) != std::string::npos;
    thread_name = tells ? thread->second : thread->second + " " + lane.thread;
  }
  if (lane.place == Place::kAsynchronous) thread_name = "asynchronous " + lane.thread;
  std::string process = lane.process.empty() ? "process" : lane.process;
  const auto name = process_names_.find(lane.process);
  if (!kineto && name != process_names_.end() && !name->second.empty())
    process = name->second + " " + lane.process;
  return path_part(process) + "/" + thread_name;
}

void TracePhases::name_lanes(const ChromeHeader& header) {
  std::string front = path_part(options_.host) + "/";
  if (header.rank) front += fmt::format("rank{}/", *header.rank);
  trace_lane_ = front + std::string(codec::kTraceLane);
  for (Lane& lane : lanes_) {
    const std::string name =
        lane.place == Place::kStream
            ? codec::stream_lane(path_part(lane.process), path_part(lane.thread))
            : lane_name(lane, header.kineto);
    lane.name = mlflow::phase_text(front + name, limits::kNameBytes);
  }
}

Result<TraceCounts> TracePhases::arrange(const ChromeHeader& header) {
  place_in_time(header);
  if (kept_.empty()) {
    return fail(
        Code::kUnprocessable,
        fmt::format(
            "none of the trace's {} became a phase{}", counted(counts_.events, "event"),
            counts_.left_out.contains("operators") ? "; its operators do with --operators" : ""));
  }
  find_launches();
  name_lanes(header);
  std::ranges::sort(kept_, {}, [](const Kept& one) {
    return std::tuple(one.lane, one.begin,
                      -(one.open ? std::numeric_limits<std::int64_t>::max() : one.end), one.id);
  });
  std::vector<bool> used(lanes_.size());
  std::int64_t begin = kept_.front().begin, end = begin;
  for (const Kept& kept : kept_) {
    begin = std::min(begin, kept.begin);
    end = std::max(end, kept.open ? kept.begin : kept.end);
    used[kept.lane] = true;
    counts_.open += kept.open ? 1 : 0;
  }
  counts_.begin = utc_time(begin);
  counts_.end = utc_time(end);
  counts_.phases = kept_.size();
  counts_.lanes = static_cast<std::uint64_t>(std::ranges::count(used, true));
  return counts_;
}

codec::PhaseRecord TracePhases::record_of(const Kept& kept) const {
  const Lane& lane = lanes_[kept.lane];
  codec::PhaseRecord phase;
  phase.id = kept.id;
  phase.begin = mlflow::phase_time(kept.begin);
  if (!kept.open) phase.end = mlflow::phase_time(kept.end);
  phase.kind = kept.kind;
  phase.name = texts_[kept.name];
  phase.type = path_part(phase.name);
  phase.lane = lane.name;
  if (kept.numbered) {
    const bool of_device = lane.place == Place::kStream;
    phase.attributes.emplace_back(of_device ? codec::kQueuedAttribute : "index",
                                  std::to_string(kept.number));
  }
  return phase;
}

codec::PhaseRecord TracePhases::whole() const {
  codec::PhaseRecord phase;
  phase.id = counts_.events + 1;
  phase.begin = mlflow::phase_time(ns_of(counts_.begin));
  phase.end = mlflow::phase_time(ns_of(counts_.end));
  phase.kind = PhaseKind::kControl;
  phase.name = phase.type = codec::kTracePhase;
  phase.lane = trace_lane_;
  phase.attributes = mlflow::phase_attributes({{"trace", Json(options_.source)}});
  return phase;
}

Result<> TracePhases::each(const Take& take) const {
  TRY(take(whole()));
  Surroundings surroundings;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Kept& kept = kept_[i];
    if (i == 0 || kept_[i - 1].lane != kept.lane) surroundings = {};
    codec::PhaseRecord phase = record_of(kept);
    if (lanes_[kept.lane].place == Place::kThread) {
      const std::int64_t end = kept.open ? std::numeric_limits<std::int64_t>::max() : kept.end;
      if (const auto* around = surroundings.around(kept.begin, end)) {
        phase.parent = around->id;
        phase.type = around->type.size() + phase.type.size() < kPathBytes
                         ? around->type + "/" + phase.type
                         : around->type;
      }
      surroundings.push(end, {.id = kept.id, .type = phase.type});
    }
    TRY(take(std::move(phase)));
  }
  return {};
}

}  // namespace corral::trace
