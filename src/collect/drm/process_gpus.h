// ProcessGpus: the use that a run makes of GPUs, from the kernel's text about each client (an open
// file of a GPU, which several processes may share).
//
// A round begins, takes the text of every open file, and ends. Engines' time is added up as it
// grows, so that the use of a client that goes away remains. Allocates nothing after construction.
// One thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/drm/usage.h"
#include "core/time.h"

namespace corral::collect::drm {

// Engines of one kind: as their series is called, and as drivers call them.
struct EngineKind {
  std::string_view name;
  std::string_view driver_names[2];
};

inline constexpr std::size_t kMostKinds = 8;

struct Gpu {
  std::string address;                // address on PCI
  std::span<const EngineKind> kinds;  // 1 to kMostKinds; any other counts as the last
};

// The run's use of one GPU, after a round.
struct GpuUse {
  bool used = false;  // now or before
  std::uint64_t processes = 0;
  std::uint64_t memory_bytes = 0;
  bool memory_known = false;
  std::array<bool, kMostKinds> reported{};        // kinds whose time a client has reported
  std::array<double, kMostKinds> busy_seconds{};  // so far
  // Share of the busiest kind of engine, since the round before; nothing in the first round, or if
  // no time is reported.
  std::optional<double> busy_share;
};

class ProcessGpus {
 public:
  static constexpr std::size_t kMostClients = 512;  // more are not counted

  explicit ProcessGpus(std::vector<Gpu> gpus);

  void begin(BootTime now);
  // False when the text is not of one of these GPUs.
  bool add_text(pid_t process, std::string_view text);
  void end();
  [[nodiscard]] std::span<const GpuUse> uses() const { return uses_; }

 private:
  // The work of a client's engines of one kind so far.
  struct Work {
    double seconds = 0;
    double cycles = 0, total_cycles = 0;
    bool timed = false;
  };
  using Works = std::array<Work, kMostKinds>;
  struct Client {
    std::size_t gpu = 0;
    std::uint64_t number = 0;
    bool seen = false;  // in this round
    bool fresh = true;  // in no round before
    int absent = 0;     // rounds since it was seen: its descriptor may only be looked for again
    Works last{};
  };
  Client* find_client(std::size_t gpu, std::uint64_t number);
  static Works engine_work(const Usage& usage, const Gpu& gpu);
  void add(const Works& works, Client& client);

  std::vector<Gpu> gpus_;
  std::vector<GpuUse> uses_;
  std::vector<Client> clients_;
  // The last process of the round, by GPU.
  std::vector<pid_t> last_process_;
  std::vector<std::array<double, kMostKinds>> grown_;
  std::optional<BootTime> before_;
  double passed_ = 0;  // seconds since the round before; 0: there was none
};

}  // namespace corral::collect::drm
