#include "collect/tree/thread_table.h"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace corral::collect::tree {
namespace {

constexpr std::size_t kMaxThreadsOfProcess = 4096;
// A thread takes a place from another if it is that much busier.
constexpr double kTimesBusier = 2;
constexpr double kCoresBusier = 0.01;

// A thread that once used so much CPU time gets a free place even when it is idle, in ns. Pools
// that never worked do not.
constexpr std::uint64_t kWorked = 10'000'000;

std::uint64_t since(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

}  // namespace

ThreadTable::ThreadTable(const std::filesystem::path& root)
    : files_(root), thread_ids_(kMaxThreadsOfProcess) {
  probes_.reserve(kProbes);
  next_.reserve(kProbes);
}

bool ThreadTable::has_place(pid_t thread) const {
  return std::ranges::find(places_, thread, &Place::thread) != places_.end();
}

// Returns true for a thread that is ending or gone. The files of one that has given up its memory
// belong to root, so that the kernel refuses them to the run's user.
bool ThreadTable::has_given_up_memory(const Place& place) {
  const auto text = files_.read_thread(place.process, place.thread, ThreadFile::kStatm, nullptr);
  std::uint64_t resident_pages = 0;
  return !text || (parse_statm(*text, resident_pages) && resident_pages == 0);
}

void ThreadTable::note_wait(std::size_t at) {
  Place& place = places_[at];
  Seat& seat = seats_[at];
  if (seat.refused) return;
  const auto text = files_.read_thread(place.process, place.thread, ThreadFile::kSyscall,
                                       &seat.kept[static_cast<std::size_t>(ThreadFile::kSyscall)]);
  if (!text && (errno == EACCES || errno == EPERM)) {
    const int refusal = errno;
    seat.refused = true;
    if (!has_given_up_memory(place)) refusal_ = refusal;
  }
  ThreadCall call;
  place.waits_known = text && parse_syscall(*text, call);
  if (!place.waits_known || call.running) return;
  if (call.descriptor) {
    const std::string_view target = files_.read_descriptor(place.process, *call.descriptor);
    const bool pipe = target.starts_with("pipe:") || target.starts_with("socket:");
    const bool file = target.starts_with("/") && !target.starts_with("/dev/");
    call.wait = pipe ? Wait::kPipe : file ? Wait::kFile : Wait::kOther;
  }
  place.waited[static_cast<std::size_t>(call.wait)] += static_cast<std::uint64_t>(elapsed_.count());
}

void ThreadTable::refresh(std::size_t at) {
  Place& place = places_[at];
  Seat& seat = seats_[at];
  if (place.thread == 0) return;
  const auto text =
      files_.read_thread(place.process, place.thread, ThreadFile::kSchedstat,
                         &seat.kept[static_cast<std::size_t>(ThreadFile::kSchedstat)]);
  ThreadTimes now;
  if (!text || !parse_schedstat(*text, now)) {
    place.process = place.thread = 0;
    seat = {};
    return;
  }
  const std::uint64_t cpu = since(seat.last.cpu, now.cpu);
  place.times.cpu += cpu;
  place.times.run_delay += since(seat.last.run_delay, now.run_delay);
  seat.last = now;
  seat.busy = static_cast<double>(cpu) * 1e-9 / seconds(elapsed_);
  note_wait(at);
}

// Gives the thread a free place, or that of the idlest one. `used` since its times in the probe.
void ThreadTable::offer(const Probe& probe, const ThreadTimes& used) {
  const double busy = static_cast<double>(used.cpu) * 1e-9 / seconds(elapsed_);
  auto place = std::ranges::find(places_, pid_t{0}, &Place::thread);
  const bool free = place != places_.end();
  if (!free) {
    const auto idlest = std::ranges::min_element(seats_, {}, &Seat::busy);
    if (busy < kTimesBusier * idlest->busy + kCoresBusier) return;
    place = places_.begin() + (idlest - seats_.begin());
    probed_all_ = false;  // its thread is in no probe
  } else if (busy <= 0 && probe.times.cpu < kWorked && probe.process != probe.thread) {
    return;
  }
  place->process = probe.process;
  place->thread = probe.thread;
  place->waits_known = false;
  Seat& seat = seats_[static_cast<std::size_t>(place - places_.begin())];
  seat = {.last = {}, .busy = busy, .refused = false, .kept = {}};
  const auto text =
      files_.read_thread(probe.process, probe.thread, ThreadFile::kSchedstat,
                         &seat.kept[static_cast<std::size_t>(ThreadFile::kSchedstat)]);
  if (!text || !parse_schedstat(*text, seat.last)) {
    place->process = place->thread = 0;
    seat = {};
  } else if (free) {
    place->times.cpu += used.cpu;
    place->times.run_delay += used.run_delay;
  }
}

void ThreadTable::judge_probes() {
  for (Probe& probe : probes_) {
    if (has_place(probe.thread)) continue;
    const auto text =
        files_.read_thread(probe.process, probe.thread, ThreadFile::kSchedstat, nullptr);
    ThreadTimes now;
    if (!text || !parse_schedstat(*text, now)) {
      probe.thread = 0;  // gone
      continue;
    }
    const ThreadTimes used = {.cpu = since(probe.times.cpu, now.cpu),
                              .run_delay = since(probe.times.run_delay, now.run_delay)};
    probe.times = now;
    offer(probe, used);
  }
}

// A thread that is new and has run for longer came into the run with a process that did.
bool ThreadTable::began_since_last_walk(const ThreadTimes& now) const {
  return probed_all_ && now.cpu + now.run_delay <= static_cast<std::uint64_t>(elapsed_.count());
}

// The next threads without a place, all of them if they are few.
void ThreadTable::choose_probes(std::span<const pid_t> processes) {
  const bool from_the_first = next_process_ == 0 && next_thread_ == 0;
  next_.clear();
  if (next_process_ >= processes.size()) next_process_ = next_thread_ = 0;
  const std::size_t first = next_process_;
  for (std::size_t k = 0; k < processes.size(); ++k) {
    const std::size_t at = (first + k) % processes.size();
    const std::size_t count = files_.list_threads(processes[at], thread_ids_);
    for (std::size_t t = k == 0 ? next_thread_ : 0; t < count; ++t) {
      const pid_t thread = thread_ids_[t];
      if (has_place(thread)) continue;
      if (next_.size() == kProbes) {
        next_process_ = at;
        next_thread_ = t;
        probed_all_ = false;
        return;
      }
      const auto known = std::ranges::find(probes_, thread, &Probe::thread);
      if (known != probes_.end()) {
        next_.push_back(*known);
        continue;
      }
      ThreadTimes now;
      const auto text = files_.read_thread(processes[at], thread, ThreadFile::kSchedstat, nullptr);
      if (text && parse_schedstat(*text, now))
        next_.push_back({.process = processes[at],
                         .thread = thread,
                         .times = began_since_last_walk(now) ? ThreadTimes{} : now});
    }
  }
  // A walk that went on where the one before ended has not seen those before that.
  probed_all_ = from_the_first;
  next_process_ = next_thread_ = 0;
}

void ThreadTable::walk(std::span<const pid_t> processes, BootTime now) {
  elapsed_ = walked_ == BootTime() ? Nanos(0) : now - walked_;
  walked_ = now;
  if (elapsed_ > Nanos(0)) {
    for (std::size_t at = 0; at < kPlaces; ++at) refresh(at);
    judge_probes();
  }
  next_.clear();
  if (!processes.empty()) choose_probes(processes);
  probes_.swap(next_);
}

}  // namespace corral::collect::tree
