// A libnvidia-ml.so.1 for tests: answers from a timeline file that CORRAL_FAKE_NVML names, and is
// as strict as the driver about version words, window lengths, sizes and order of calls. Never
// installed.
//
// Keys: gpus; driver.version; driver.gone; gpuN.KEY with uuid, name, bus, busy, memory_busy,
// memory.total|reserved|used, field.ID or field.ID.SCOPE, field.ID.wide (64 bits), power, energy,
// clock.sm|memory, reasons, temperature, state, encoder, decoder, link.generation|width, gpm,
// gpm.ID, mig, mig.privileged (its process lists are answered in MIG mode), lost, ring.TYPE
// (ring.h), process.PID (bytes) with .sm (%), .mps (a client of MPS: no samples), .stamp (s by
// which its samples are late) and .unlisted (there are samples alone); gpuN.migM.KEY with uuid, gi,
// memory.*, gpm.ID, process.*; call.FUNCTION.latency (s), .status, .version (the version word that
// it asks for), .strict (no room is an error) and .entry (bytes of an entry of its list).
#include <time.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "collect/nvidia/fake/control.h"
#include "collect/nvidia/fake/ring.h"
#include "collect/nvidia/fake/timeline.h"
#include "collect/nvidia/nvml_types.h"
#include "core/mutex.h"

namespace corral::collect::nvidia {

struct DeviceObject {
  unsigned gpu = 0;
  int instance = -1;
  std::string prefix;  // "gpu0." or "gpu0.mig1."
};
struct GpmSampleObject {
  double time = -1;
  std::string prefix;
};

namespace fake {
namespace {

constexpr unsigned kMostGpus = 16;
constexpr int kMostInstances = 7;

double read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double monotonic() { return read_clock(CLOCK_MONOTONIC); }

struct Driver {
  Timeline timeline;
  std::atomic<int> users = 0;
  double begun = 0;
  double begun_utc = 0;
  std::atomic<bool> steered = false;
  std::atomic<double> steered_time = 0;
  void (*pass)(double) = nullptr;
  // Also held by nvmlInit_v2() while it loads the timeline.
  Mutex mutex;
  // Guarded by mutex.
  std::map<std::string, DeviceObject, std::less<>> devices GUARDED_BY(mutex);
  struct Count {
    const char* function = nullptr;
    unsigned long calls = 0;
  };
  std::array<Count, 64> counts GUARDED_BY(mutex);

  // Allocates nothing.
  Count& count_of(const char* function) REQUIRES(mutex) {
    std::size_t at = 0;
    while (at + 1 < counts.size() && counts[at].function != nullptr &&
           std::strcmp(counts[at].function, function) != 0)
      ++at;
    counts[at].function = function;
    return counts[at];
  }
  [[nodiscard]] double now() const { return steered ? steered_time.load() : monotonic() - begun; }
  [[nodiscard]] Ring ring(std::string_view key) const {
    return {timeline, key, steered ? 1.7e9 : begun_utc};
  }
};

Driver& driver() {
  static Driver one;
  return one;
}

// A key without allocation.
class Key {
 public:
  template <class... Parts>
  explicit Key(const char* format, Parts... parts) {
    size_ = std::snprintf(text_.data(), text_.size(), format, parts...);
  }
  operator std::string_view() const { return {text_.data(), static_cast<std::size_t>(size_)}; }

 private:
  std::array<char, 128> text_;
  int size_;
};

const Value* find(std::string_view key) { return driver().timeline.find(key, driver().now()); }

bool is_set(std::string_view key) {
  const Value* value = find(key);
  return value != nullptr && value->number != 0;
}

void pass_time(double seconds) {
  if (driver().pass != nullptr) {
    driver().pass(seconds);
    return;
  }
  timespec rest{};
  rest.tv_sec = static_cast<time_t>(seconds);
  rest.tv_nsec = static_cast<long>((seconds - static_cast<double>(rest.tv_sec)) * 1e9);
  ::nanosleep(&rest, nullptr);
}

// Entry of every call: counts it, adds its latency, applies the requested refusals.
Status enter(const char* function) {
  Driver& d = driver();
  {
    const Lock lock(d.mutex);
    ++d.count_of(function).calls;
  }
  if (d.users == 0) return Status::kUninitialized;
  if (const Value* latency = find(Key("call.%s.latency", function))) pass_time(latency->number);
  if (is_set("driver.gone")) return Status::kDriverNotLoaded;
  const Value* status = find(Key("call.%s.status", function));
  return status != nullptr ? status->status : Status::kSuccess;
}

Status enter(const char* function, Device device) {
  const Status status = enter(function);
  if (status != Status::kSuccess) return status;
  if (device == nullptr) return Status::kInvalidArgument;
  return is_set(Key("gpu%u.lost", device->gpu)) ? Status::kGpuIsLost : Status::kSuccess;
}

// 2^64 - 1 stays that: it is the driver's word for a value that is not available.
std::uint64_t whole(double value) {
  constexpr double kEnd = 18446744073709551616.0;
  return value >= kEnd ? ~std::uint64_t{0} : static_cast<std::uint64_t>(value);
}

Status number(Device device, std::string_view name, double& out) {
  const Value* value =
      find(Key("%s%.*s", device->prefix.c_str(), static_cast<int>(name.size()), name.data()));
  if (value == nullptr) return Status::kNotSupported;
  if (value->status == Status::kSuccess) out = value->at(driver().now());
  return value->status;
}

template <class T>
Status give(const char* function, Device device, std::string_view name, T* out) {
  Status status = enter(function, device);
  if (status != Status::kSuccess) return status;
  double value = 0;
  status = number(device, name, value);
  if (status == Status::kSuccess) *out = static_cast<T>(value);
  return status;
}

Status text(const char* function, Device device, const char* name, char* out, unsigned size) {
  const Status status = enter(function, device);
  if (status != Status::kSuccess) return status;
  const Value* value = find(Key("%s%s", device->prefix.c_str(), name));
  if (value == nullptr) return Status::kNotSupported;
  if (value->text.size() + 1 > size) return Status::kInsufficientSize;
  std::memcpy(out, value->text.c_str(), value->text.size() + 1);
  return Status::kSuccess;
}

bool version_is(const char* function, std::uint32_t said, std::uint32_t usual) {
  const Value* wanted = find(Key("call.%s.version", function));
  return said == (wanted != nullptr ? static_cast<std::uint32_t>(wanted->number) : usual);
}

Status memory(Device device, double& total, double& reserved, double& used) {
  const Status status = number(device, "memory.total", total);
  if (status != Status::kSuccess) return status;
  number(device, "memory.reserved", reserved);
  return number(device, "memory.used", used);
}

// Field values come as what the driver gives: 64 bits for counters, 32 for the rest; those of PCIe
// bytes wrap.
Status field(Device device, FieldValue& value) {
  double found = 0;
  Status status = Status::kNotSupported;
  if (value.scope != 0) {
    status = number(device, Key("field.%u.%d", value.field, static_cast<int>(value.scope)), found);
  } else {
    status = number(device, Key("field.%u", value.field), found);
  }
  value.timestamp_us = static_cast<std::int64_t>(driver().now() * 1e6);
  value.latency_us = 1;
  if (status != Status::kSuccess) return status;
  const std::uint64_t wide = whole(found);
  const bool pcie_bytes = value.field == 197 || value.field == 198;
  const bool is_wide = pcie_bytes
                           ? is_set(Key("%sfield.%u.wide", device->prefix.c_str(), value.field))
                           : wide > 0xFFFFFFFFU || value.field % 2 == 1;
  if (is_wide) {
    value.type = ValueType::kUint64;
    std::memcpy(value.value, &wide, sizeof wide);
  } else {
    const auto small = static_cast<std::uint32_t>(wide);
    value.type = ValueType::kUint32;
    std::memcpy(value.value, &small, sizeof small);
  }
  return status;
}

struct Process {
  std::uint32_t pid;
  std::uint64_t bytes;
  std::string_view key;

  [[nodiscard]] double part(const char* name) const {
    const Value* value = find(Key("%.*s.%s", static_cast<int>(key.size()), key.data(), name));
    return value != nullptr ? value->number : 0;
  }
};

// Calls f for each process of the device that is a client of MPS, or is not.
template <class F>
void for_each_process(Device device, bool mps, F f) {
  const Key prefix("%sprocess.", device->prefix.c_str());
  const auto& keys = driver().timeline.keys();
  const std::string_view begin = prefix;
  for (auto at = keys.lower_bound(begin); at != keys.end() && at->first.starts_with(begin); ++at) {
    if (at->first.find('.', begin.size()) != std::string::npos) continue;
    const Value* bytes = find(at->first);
    if (bytes == nullptr || bytes->number < 0) continue;
    const Process process{.pid = static_cast<std::uint32_t>(
                              std::strtoul(at->first.c_str() + begin.size(), nullptr, 10)),
                          .bytes = whole(bytes->number),
                          .key = at->first};
    if ((process.part("mps") != 0) == mps) f(process);
  }
}

template <class Entry>
Status processes(const char* function, Device device, unsigned* count, Entry* list,
                 bool mps = false) {
  const Status status = enter(function, device);
  if (status != Status::kSuccess) return status;
  // All instances together are for administrators.
  if (device->instance < 0 && is_set(Key("gpu%u.mig", device->gpu)) &&
      !is_set(Key("gpu%u.mig.privileged", device->gpu)))
    return Status::kNoPermission;
  const Value* told = find(Key("call.%s.entry", function));
  const auto size = told != nullptr ? static_cast<std::size_t>(told->number) : sizeof(Entry);
  unsigned found = 0;
  for_each_process(device, mps, [&](const Process& process) {
    if (process.part("unlisted") != 0) return;
    if (found < *count && list != nullptr) {
      auto* entry = reinterpret_cast<char*>(list) + found * size;
      std::memset(entry, 0, size);
      std::memcpy(entry, &process.pid, sizeof process.pid);
      std::memcpy(entry + offsetof(Entry, memory), &process.bytes, sizeof process.bytes);
    }
    ++found;
  });
  const bool fits = found <= *count;
  *count = found;
  return fits ? Status::kSuccess : Status::kInsufficientSize;
}

// Calls f(process, UTC in us, %) for each process that has a sample since then.
template <class F>
void for_each_share(Device device, std::uint64_t since_us, F f) {
  for_each_process(device, false, [&](const Process& process) {
    const double now = driver().now();
    const double utc = driver().ring("").utc(now) + process.part("stamp");
    const auto stamp = static_cast<std::uint64_t>(std::llround(utc * 1e6));
    if (stamp > since_us) f(process, stamp, static_cast<std::uint32_t>(process.part("sm")));
  });
}

Status take_sample(const std::string& prefix, GpmSample sample) {
  if (sample == nullptr) return Status::kInvalidArgument;
  sample->time = driver().now();
  sample->prefix = prefix;
  return Status::kSuccess;
}

DeviceObject* object(unsigned gpu, int instance) {
  const Key prefix = instance < 0 ? Key("gpu%u.", gpu) : Key("gpu%u.mig%d.", gpu, instance);
  Driver& d = driver();
  const Lock lock(d.mutex);
  if (const auto at = d.devices.find(std::string_view(prefix)); at != d.devices.end())
    return &at->second;
  const std::string name{std::string_view(prefix)};
  return &d.devices.emplace(name, DeviceObject{gpu, instance, name}).first->second;
}

}  // namespace
}  // namespace fake
}  // namespace corral::collect::nvidia

using namespace corral::collect::nvidia;        // NOLINT: all of this file is the fake
using namespace corral::collect::nvidia::fake;  // NOLINT

#define CORRAL_FAKE_ENTER(...)                                           \
  if (const Status entered = enter(__func__ __VA_OPT__(, ) __VA_ARGS__); \
      entered != Status::kSuccess)                                       \
  return entered

extern "C" {

void corral_fake_set_time(double seconds) {
  driver().steered_time = seconds;
  driver().steered = true;
}
void corral_fake_on_latency(void (*pass)(double)) { driver().pass = pass; }
double corral_fake_utc() { return driver().ring("").utc(driver().now()); }
unsigned long corral_fake_calls(const char* function) {
  Driver& d = driver();
  const corral::Lock lock(d.mutex);
  for (const auto& count : d.counts) {
    if (count.function != nullptr && std::strcmp(count.function, function) == 0) return count.calls;
  }
  return 0;
}

Status nvmlInit_v2() {
  Driver& d = driver();
  const corral::Lock lock(d.mutex);
  if (d.users == 0) {
    const char* path = std::getenv("CORRAL_FAKE_NVML");
    d.timeline = {};
    d.counts = {};
    if (path == nullptr || !d.timeline.load(path)) return Status::kDriverNotLoaded;
    d.begun = monotonic();
    d.begun_utc = read_clock(CLOCK_REALTIME);
  }
  const Value* refused = find("call.nvmlInit_v2.status");
  if (refused != nullptr) return refused->status;
  ++d.users;
  return Status::kSuccess;
}
Status nvmlShutdown() {
  if (driver().users == 0) return Status::kUninitialized;
  --driver().users;
  return Status::kSuccess;
}
const char* nvmlErrorString(Status status) {
  switch (status) {
    case Status::kNotSupported:
      return "Not Supported";
    case Status::kNoPermission:
      return "Insufficient Permissions";
    case Status::kGpuIsLost:
      return "GPU is lost";
    case Status::kDriverNotLoaded:
      return "Driver Not Loaded";
    case Status::kTimeout:
      return "Timeout";
    case Status::kVersionMismatch:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}

Status nvmlSystemGetDriverVersion(char* out, unsigned size) {
  CORRAL_FAKE_ENTER();
  const Value* value = find("driver.version");
  std::snprintf(out, size, "%s", value != nullptr ? value->text.c_str() : "0");
  return Status::kSuccess;
}
Status nvmlDeviceGetCount_v2(unsigned* count) {
  CORRAL_FAKE_ENTER();
  const Value* value = find("gpus");
  *count = value != nullptr ? static_cast<unsigned>(value->number) : 0;
  return Status::kSuccess;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  CORRAL_FAKE_ENTER();
  const Value* count = find("gpus");
  if (count == nullptr || index >= count->number || index >= kMostGpus)
    return Status::kInvalidArgument;
  *device = object(index, -1);
  const Value* handle = find(Key("gpu%u.handle", index));
  return handle != nullptr ? handle->status : Status::kSuccess;
}
Status nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  return text(__func__, device, "uuid", out, size);
}
Status nvmlDeviceGetName(Device device, char* out, unsigned size) {
  return text(__func__, device, "name", out, size);
}
Status nvmlDeviceGetPciInfo_v3(Device device, PciAddress* pci) {
  *pci = {};
  return give(__func__, device, "bus", &pci->bus);
}

Status nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* out) {
  return give(__func__, device, "link.generation", out);
}
Status nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* out) {
  return give(__func__, device, "link.width", out);
}

Status nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  CORRAL_FAKE_ENTER(device);
  double gpu = 0;
  double memory_busy = 0;
  Status status = number(device, "busy", gpu);
  if (status == Status::kSuccess) status = number(device, "memory_busy", memory_busy);
  *out = {static_cast<std::uint32_t>(gpu), static_cast<std::uint32_t>(memory_busy)};
  return status;
}
Status nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  CORRAL_FAKE_ENTER(device);
  if (!version_is(__func__, out->version, kMemoryV2Version)) return Status::kVersionMismatch;
  double total = 0;
  double reserved = 0;
  double used = 0;
  const Status status = memory(device, total, reserved, used);
  out->total = whole(total);
  out->reserved = whole(reserved);
  out->used = whole(used);
  out->free = out->total - out->reserved - out->used;
  return status;
}
Status nvmlDeviceGetMemoryInfo(Device device, MemoryV1* out) {
  CORRAL_FAKE_ENTER(device);
  double total = 0;
  double reserved = 0;
  double used = 0;
  const Status status = memory(device, total, reserved, used);
  out->total = whole(total);
  out->used = whole(reserved + used);
  out->free = out->total - out->used;
  return status;
}
Status nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  CORRAL_FAKE_ENTER(device);
  if (count <= 0) return Status::kInvalidArgument;
  for (int i = 0; i < count; ++i) values[i].status = field(device, values[i]);
  return Status::kSuccess;
}
Status nvmlDeviceGetPowerUsage(Device device, unsigned* out) {
  return give(__func__, device, "power", out);
}
Status nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* out) {
  return give(__func__, device, "energy", out);
}
Status nvmlDeviceGetClockInfo(Device device, Clock clock, unsigned* out) {
  return give(__func__, device, clock == Clock::kSm ? "clock.sm" : "clock.memory", out);
}
Status nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* out) {
  return give(__func__, device, "reasons", out);
}
Status nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* out) {
  return give(__func__, device, "reasons", out);
}
Status nvmlDeviceGetTemperature(Device device, Sensor sensor, unsigned* out) {
  if (sensor != Sensor::kGpu) return Status::kInvalidArgument;
  return give(__func__, device, "temperature", out);
}
Status nvmlDeviceGetSamples(Device device, Sampled type, unsigned long long since_us,
                            ValueType* value_type, unsigned* count, Sample* samples) {
  CORRAL_FAKE_ENTER(device);
  const Key key("%sring.%u", device->prefix.c_str(), static_cast<unsigned>(type));
  const Value* value = find(key);
  const bool utilization = type != Sampled::kPower && type < Sampled::kProcessorClock;
  if (value == nullptr || (utilization && is_set(Key("gpu%u.mig", device->gpu))))
    return Status::kNotSupported;
  if (value->status != Status::kSuccess) return value->status;
  const Ring ring = driver().ring(key);
  const double now = driver().now();
  const unsigned room = samples != nullptr ? *count : 0;
  *value_type = ring.type(now);
  *count = samples != nullptr ? ring.copy(now, since_us, {samples, room}) : ring.room(now);
  if (samples == nullptr || *count <= room)
    return *count > 0 ? Status::kSuccess : Status::kNotFound;
  *count = room;
  return is_set("call.nvmlDeviceGetSamples.strict") ? Status::kInsufficientSize : Status::kSuccess;
}
Status nvmlDeviceGetPerformanceState(Device device, unsigned* out) {
  return give(__func__, device, "state", out);
}
Status nvmlDeviceGetPersistenceMode(Device device, unsigned* out) {
  CORRAL_FAKE_ENTER(device);
  *out = 1;
  return Status::kSuccess;
}
Status nvmlDeviceGetEccMode(Device device, unsigned* now, unsigned* pending) {
  CORRAL_FAKE_ENTER(device);
  *now = 1;
  *pending = 0;
  return Status::kSuccess;
}
Status nvmlDeviceGetComputeMode(Device device, unsigned* out) {
  CORRAL_FAKE_ENTER(device);
  *out = 3;
  return Status::kSuccess;
}
Status nvmlDeviceGetPowerManagementLimit(Device device, unsigned* out) {
  CORRAL_FAKE_ENTER(device);
  *out = 700'000;
  return Status::kSuccess;
}
Status nvmlDeviceGetEncoderUtilization(Device device, unsigned* out, unsigned* period) {
  *period = 167000;
  return give(__func__, device, "encoder", out);
}
Status nvmlDeviceGetDecoderUtilization(Device device, unsigned* out, unsigned* period) {
  *period = 167000;
  return give(__func__, device, "decoder", out);
}

Status nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessV2* list) {
  return processes(__func__, device, count, list);
}
Status nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessV2* list) {
  return processes(__func__, device, count, list);
}
Status nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessV1* list) {
  return processes(__func__, device, count, list);
}
Status nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count, ProcessV2* list) {
  return processes(__func__, device, count, list, true);
}
Status nvmlDeviceGetProcessUtilization(Device device, ProcessUtilization* list, unsigned* count,
                                       unsigned long long since_us) {
  CORRAL_FAKE_ENTER(device);
  if (is_set(Key("gpu%u.mig", device->gpu))) return Status::kNotSupported;
  unsigned found = 0;
  for_each_share(device, since_us, [&](const Process& process, std::uint64_t stamp, auto sm) {
    if (found < *count && list != nullptr) {
      list[found] = {.pid = process.pid,
                     .timestamp_us = stamp,
                     .sm = sm,
                     .memory = 0,
                     .encoder = 0,
                     .decoder = 0};
    }
    ++found;
  });
  const bool fits = found <= *count;
  *count = found;
  if (found == 0) return Status::kNotFound;
  return fits ? Status::kSuccess : Status::kInsufficientSize;
}
Status nvmlDeviceGetProcessesUtilizationInfo(Device device, ProcessShares* out) {
  CORRAL_FAKE_ENTER(device);
  if (!version_is(__func__, out->version, kProcessSharesVersion)) return Status::kVersionMismatch;
  if (is_set(Key("gpu%u.mig", device->gpu))) return Status::kNotSupported;
  unsigned found = 0;
  for_each_share(device, out->since_us, [&](const Process& process, std::uint64_t stamp, auto sm) {
    if (found < out->count && out->list != nullptr) {
      out->list[found] = {};
      out->list[found].timestamp_us = stamp;
      out->list[found].pid = process.pid;
      out->list[found].sm = sm;
    }
    ++found;
  });
  const bool fits = found <= out->count;
  out->count = found;
  if (found == 0) return Status::kNotFound;
  return fits ? Status::kSuccess : Status::kInsufficientSize;
}

Status nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  CORRAL_FAKE_ENTER(device);
  *now = *pending = is_set(Key("gpu%u.mig", device->gpu)) ? 1 : 0;
  return Status::kSuccess;
}
Status nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  CORRAL_FAKE_ENTER(device);
  *count = kMostInstances;
  return Status::kSuccess;
}
Status nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* out) {
  CORRAL_FAKE_ENTER(device);
  if (index >= kMostInstances) return Status::kInvalidArgument;
  if (find(Key("gpu%u.mig%u.uuid", device->gpu, index)) == nullptr) return Status::kNotFound;
  *out = object(device->gpu, static_cast<int>(index));
  return Status::kSuccess;
}
Status nvmlDeviceGetGpuInstanceId(Device device, unsigned* out) {
  return give(__func__, device, "gi", out);
}

Status nvmlGpmQueryDeviceSupport(Device device, GpmSupport* out) {
  CORRAL_FAKE_ENTER(device);
  if (!version_is(__func__, out->version, kGpmSupportVersion)) return Status::kVersionMismatch;
  out->supported = is_set(Key("gpu%u.gpm", device->gpu)) ? 1 : 0;
  return Status::kSuccess;
}
Status nvmlGpmSampleAlloc(GpmSample* out) {
  CORRAL_FAKE_ENTER();
  auto* sample = static_cast<GpmSample>(std::malloc(sizeof(GpmSampleObject)));
  *out = ::new (static_cast<void*>(sample)) GpmSampleObject();
  return Status::kSuccess;
}
Status nvmlGpmSampleFree(GpmSample sample) {
  if (sample == nullptr) return Status::kInvalidArgument;
  sample->~GpmSampleObject();
  std::free(sample);
  return Status::kSuccess;
}
Status nvmlGpmSampleGet(Device device, GpmSample sample) {
  CORRAL_FAKE_ENTER(device);
  return take_sample(device->prefix, sample);
}
Status nvmlGpmMigSampleGet(Device device, unsigned gpu_instance, GpmSample sample) {
  CORRAL_FAKE_ENTER(device);
  for (int i = 0; i < kMostInstances; ++i) {
    const Value* gi = find(Key("gpu%u.mig%d.gi", device->gpu, i));
    if (gi != nullptr && static_cast<unsigned>(gi->number) == gpu_instance)
      return take_sample(object(device->gpu, i)->prefix, sample);
  }
  return Status::kNotFound;
}
Status nvmlGpmMetricsGet(GpmRequest* request) {
  CORRAL_FAKE_ENTER();
  if (!version_is(__func__, request->version, kGpmRequestVersion)) return Status::kVersionMismatch;
  const auto [earlier, later] = std::pair(request->earlier, request->later);
  if (earlier == nullptr || later == nullptr || earlier->prefix != later->prefix)
    return Status::kInvalidArgument;
  // The header wants more than 100 ms; in a shorter window an H100 succeeded and said 0.
  const bool too_short = later->time - earlier->time < 0.1 + 1e-9;
  for (unsigned i = 0; i < request->count; ++i) {
    GpmMetric& metric = request->metrics[i];
    const Value* value =
        driver().timeline.find(Key("%sgpm.%u", later->prefix.c_str(), metric.id), later->time);
    metric.status = value == nullptr ? Status::kNotSupported : value->status;
    if (metric.status == Status::kSuccess)
      metric.value = value->text == "nan" ? __builtin_nan("")
                     : too_short          ? 0
                                          : value->at(later->time);
  }
  return Status::kSuccess;
}
}
