#include "collect/drm/usage.h"

#include <algorithm>
#include <limits>

#include "collect/scan.h"

namespace corral::collect::drm {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Bytes of one key's regions, the device's own apart.
struct Regions {
  std::uint64_t own = 0, others = 0;
  bool has_own = false, has_others = false;

  void add(std::string_view region, std::uint64_t bytes) {
    const bool is_own = region.starts_with("vram") || region.starts_with("local");
    std::uint64_t& sum = is_own ? own : others;
    sum = sum > kMax - bytes ? kMax : sum + bytes;
    (is_own ? has_own : has_others) = true;
  }
  [[nodiscard]] bool any() const { return has_own || has_others; }
  [[nodiscard]] std::uint64_t bytes() const { return has_own ? own : others; }
};

bool skip_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::uint64_t shifted(std::uint64_t value, unsigned bits) {
  return value > kMax >> bits ? kMax : value << bits;
}

std::uint64_t read_number(Scanner value) {
  std::uint64_t number = 0;
  value.number(number);
  return number;
}

std::uint64_t read_bytes(Scanner value) {
  std::uint64_t number = 0;
  if (!value.number(number)) return 0;
  const std::string_view unit = value.word();
  if (unit == "KiB") return shifted(number, 10);
  if (unit == "MiB") return shifted(number, 20);
  return number;
}

// Nothing once there are too many.
Engine* engine_named(std::string_view name, Usage& usage) {
  const auto known = std::span(usage.engine_room).first(usage.engine_count);
  const auto at = std::ranges::find(known, name, &Engine::name);
  if (at != known.end()) return &*at;
  if (usage.engine_count == Usage::kMostEngines) return nullptr;
  Engine& engine = usage.engine_room[usage.engine_count++];
  engine = {.name = name};
  return &engine;
}

// Keys of engines; `key` is without its "drm-".
void set_engine(std::string_view key, Scanner value, Usage& usage) {
  Engine* engine = nullptr;
  const auto named = [&] { return (engine = engine_named(key, usage)) != nullptr; };
  if (skip_prefix(key, "engine-capacity-")) {
    if (named()) engine->capacity = std::max<std::uint64_t>(read_number(value), 1);
  } else if (skip_prefix(key, "engine-")) {
    if (!named()) return;
    engine->timed = true;
    engine->busy_ns = read_number(value);
  } else if (skip_prefix(key, "cycles-")) {
    if (named()) engine->cycles = read_number(value);
  } else if (skip_prefix(key, "total-cycles-")) {
    if (named()) engine->total_cycles = read_number(value);
  }
}

}  // namespace

bool parse_usage(std::string_view text, Usage& usage) {
  usage = {};
  bool is_client = false;
  Regions resident;
  Regions allocated;  // amdgpu's older name of the same
  for (Scanner lines(text); !lines.done();) {
    Scanner line(lines.line());
    std::string_view key = line.word(':');
    if (!skip_prefix(key, "drm-") || !line.skip(':')) continue;
    if (key == "pdev") {
      usage.device = line.word();
    } else if (key == "client-id") {
      is_client = line.number(usage.client);
    } else if (skip_prefix(key, "resident-")) {
      resident.add(key, read_bytes(line));
    } else if (skip_prefix(key, "memory-")) {
      allocated.add(key, read_bytes(line));
    } else {
      set_engine(key, line, usage);
    }
  }
  const Regions& memory = resident.any() ? resident : allocated;
  usage.memory_bytes = memory.bytes();
  usage.memory_known = memory.any();
  return is_client;
}

}  // namespace corral::collect::drm
