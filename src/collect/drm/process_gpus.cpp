#include "collect/drm/process_gpus.h"

#include <algorithm>
#include <utility>

#include "core/result.h"

namespace corral::collect::drm {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr int kMostAbsent = 10;  // rounds; searches are at most 5 apart

std::size_t kind_index(std::string_view engine, std::span<const EngineKind> kinds) {
  const auto is_called = [&](const EngineKind& kind) {
    return kind.driver_names[0] == engine || kind.driver_names[1] == engine;
  };
  const auto at = std::ranges::find_if(kinds, is_called);
  return at != kinds.end() ? static_cast<std::size_t>(at - kinds.begin()) : kinds.size() - 1;
}

}  // namespace

ProcessGpus::ProcessGpus(std::vector<Gpu> gpus)
    : gpus_(std::move(gpus)),
      uses_(gpus_.size()),
      last_process_(gpus_.size()),
      grown_(gpus_.size()) {
  for (const Gpu& gpu : gpus_) CORRAL_ASSERT(!gpu.kinds.empty() && gpu.kinds.size() <= kMostKinds);
  clients_.reserve(kMostClients);
}

void ProcessGpus::begin(BootTime now) {
  passed_ = before_ ? seconds(now - *before_) : 0;
  before_ = now;
  for (Client& client : clients_) client.seen = false;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    last_process_[i] = 0;
    grown_[i] = {};
    uses_[i].processes = uses_[i].memory_bytes = 0;
    uses_[i].memory_known = false;
    uses_[i].busy_share.reset();
  }
}

bool ProcessGpus::add_text(pid_t process, std::string_view text) {
  Usage usage;
  if (!parse_usage(text, usage)) return false;
  const auto at = std::ranges::find(gpus_, usage.device, &Gpu::address);
  if (at == gpus_.end()) return false;
  const auto gpu = static_cast<std::size_t>(at - gpus_.begin());
  GpuUse& use = uses_[gpu];
  use.used = true;
  if (std::exchange(last_process_[gpu], process) != process) ++use.processes;
  Client* client = find_client(gpu, usage.client);
  if (client == nullptr || std::exchange(client->seen, true)) return true;
  use.memory_bytes += usage.memory_bytes;
  use.memory_known = use.memory_known || usage.memory_known;
  add(engine_work(usage, *at), *client);
  return true;
}

ProcessGpus::Client* ProcessGpus::find_client(std::size_t gpu, std::uint64_t number) {
  const auto at = std::ranges::find_if(
      clients_, [&](const Client& client) { return client.gpu == gpu && client.number == number; });
  if (at != clients_.end()) return &*at;
  if (clients_.size() == kMostClients) {
    const auto gone = std::ranges::max_element(clients_, {}, &Client::absent);
    if (gone->absent == 0) return nullptr;
    *gone = Client{.gpu = gpu, .number = number};
    return &*gone;
  }
  return &clients_.emplace_back(Client{.gpu = gpu, .number = number});
}

ProcessGpus::Works ProcessGpus::engine_work(const Usage& usage, const Gpu& gpu) {
  Works works;
  for (const Engine& engine : usage.engines()) {
    Work& work = works[kind_index(engine.name, gpu.kinds)];
    const auto capacity = static_cast<double>(engine.capacity);
    if (engine.timed) {
      work.timed = true;
      work.seconds += static_cast<double>(engine.busy_ns) * kNanosecond / capacity;
    } else if (engine.total_cycles > 0) {
      work.cycles += static_cast<double>(engine.cycles) / capacity;
      work.total_cycles = std::max(work.total_cycles, static_cast<double>(engine.total_cycles));
    }
  }
  return works;
}

// For a new client, all its work counts; for cycles, whose time is unknown, the work before it was
// first seen is left out.
void ProcessGpus::add(const Works& works, Client& client) {
  GpuUse& use = uses_[client.gpu];
  for (std::size_t kind = 0; kind < kMostKinds; ++kind) {
    const Work& now = works[kind];
    Work& last = client.last[kind];
    if (!now.timed && now.total_cycles == 0) continue;
    use.reported[kind] = true;
    double grown = now.seconds - last.seconds;
    if (!now.timed) {
      const double total = now.total_cycles - last.total_cycles;
      const bool known = !client.fresh && total > 0 && last.total_cycles > 0;
      grown = known ? (now.cycles - last.cycles) / total * passed_ : 0;
    }
    grown = std::max(grown, 0.0);
    use.busy_seconds[kind] += grown;
    if (!client.fresh) grown_[client.gpu][kind] += grown;
    // The kernel may tell of less than before: the greater value stays the one to compare with.
    last.timed = now.timed;
    last.seconds = std::max(last.seconds, now.seconds);
    last.cycles = std::max(last.cycles, now.cycles);
    last.total_cycles = std::max(last.total_cycles, now.total_cycles);
  }
  client.fresh = false;
}

void ProcessGpus::end() {
  for (Client& client : clients_) client.absent = client.seen ? 0 : client.absent + 1;
  std::erase_if(clients_, [](const Client& client) { return client.absent > kMostAbsent; });
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const bool reported = std::ranges::find(uses_[i].reported, true) != uses_[i].reported.end();
    if (reported && passed_ > 0) uses_[i].busy_share = std::ranges::max(grown_[i]) / passed_;
  }
}

}  // namespace corral::collect::drm
