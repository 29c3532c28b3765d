// A libamd_smi.so for tests: two sockets, one GPU each, answers from the timeline file that
// CORRAL_FAKE_AMDSMI names. Never installed.
//
// Keys: gpuN.energy (steps) and gpuN.energy.status; gpuN.violations (steps), gpuN.hot, .power,
// .socket, .regulator and .memory (of them; grow with each read as "100+10" says, and are not
// counted unless said) and gpuN.violations.status; call.FUNCTION.status.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "collect/amd/gpu_metrics.h"
#include "collect/nvidia/fake/timeline.h"

namespace {

using corral::collect::amd::SmiStatus;
using corral::collect::nvidia::fake::Timeline;

constexpr auto kNotInitialised = static_cast<SmiStatus>(32);
constexpr auto kInvalid = static_cast<SmiStatus>(1);

struct Library {
  Timeline timeline;
  int users = 0;
  int gpus[2] = {0, 1};
  std::uint64_t reads = 0;
  int violation_reads[2] = {0, 0};
};
Library& library() {
  static Library one;
  return one;
}

double number(const std::string& key, double otherwise) {
  const auto* value = library().timeline.find(key, 0);
  return value != nullptr ? value->number : otherwise;
}
SmiStatus enter(const std::string& function) {
  if (library().users == 0) return kNotInitialised;
  return static_cast<SmiStatus>(number("call." + function + ".status", 0));
}

}  // namespace

extern "C" {

SmiStatus amdsmi_init(std::uint64_t flags) {
  if (flags != 2) return kInvalid;
  const char* path = std::getenv("CORRAL_FAKE_AMDSMI");
  library() = Library{};
  if (path == nullptr || !library().timeline.load(path)) return kInvalid;
  library().users = 1;
  const SmiStatus status = enter("amdsmi_init");
  if (status != SmiStatus::kSuccess) library().users = 0;
  return status;
}
SmiStatus amdsmi_shut_down() {
  library().users = 0;
  return SmiStatus::kSuccess;
}
SmiStatus amdsmi_get_socket_handles(std::uint32_t* count, void** sockets) {
  if (const auto s = enter("amdsmi_get_socket_handles"); s != SmiStatus::kSuccess) return s;
  if (sockets != nullptr) {
    if (*count < 2) return kInvalid;
    sockets[0] = &library().gpus[0];
    sockets[1] = &library().gpus[1];
  }
  *count = 2;
  return SmiStatus::kSuccess;
}
SmiStatus amdsmi_get_processor_handles(void* socket, std::uint32_t* count, void** processors) {
  if (const auto s = enter("amdsmi_get_processor_handles"); s != SmiStatus::kSuccess) return s;
  if (processors != nullptr) *processors = socket;
  *count = 1;
  return SmiStatus::kSuccess;
}
SmiStatus amdsmi_get_gpu_device_bdf(void* processor, std::uint64_t* address) {
  const int gpu = *static_cast<int*>(processor);
  // Domain 0, bus 3 or 0x83, device 2, function 1.
  *address = static_cast<std::uint64_t>(gpu == 0 ? 0x03 : 0x83) << 8U | 2U << 3U | 1U;
  return enter("amdsmi_get_gpu_device_bdf");
}
SmiStatus amdsmi_get_energy_count(void* processor, std::uint64_t* steps, float* resolution,
                                  std::uint64_t* time_ns) {
  if (const auto s = enter("amdsmi_get_energy_count"); s != SmiStatus::kSuccess) return s;
  const std::string gpu = "gpu" + std::to_string(*static_cast<int*>(processor));
  *steps = static_cast<std::uint64_t>(number(gpu + ".energy", 0));
  *resolution = 15.25F;
  *time_ns = ++library().reads;
  return static_cast<SmiStatus>(number(gpu + ".energy.status", 0));
}
// Fills more than the driver's first version of the struct had.
SmiStatus amdsmi_get_violation_status(void* processor, std::uint64_t* status) {
  if (const auto s = enter("amdsmi_get_violation_status"); s != SmiStatus::kSuccess) return s;
  const int index = *static_cast<int*>(processor);
  const std::string gpu = "gpu" + std::to_string(index);
  if (const double refused = number(gpu + ".violations.status", 0); refused != 0)
    return static_cast<SmiStatus>(refused);
  const int reads = library().violation_reads[index]++;
  const auto count = [&](const char* key) {
    const auto* value = library().timeline.find(gpu + key, 0);
    return value != nullptr ? static_cast<std::uint64_t>(value->at(reads)) : ~std::uint64_t{0};
  };
  const std::uint64_t words[] = {1,
                                 2,
                                 count(".violations"),
                                 count(".hot"),
                                 count(".power"),
                                 count(".socket"),
                                 count(".regulator"),
                                 count(".memory")};
  std::copy(std::begin(words), std::end(words), status);
  std::fill_n(status + std::size(words), 800, 7);
  return SmiStatus::kSuccess;
}
SmiStatus amdsmi_status_code_to_string(SmiStatus status, const char** text) {
  *text = status == SmiStatus::kNoPermission   ? "Permission Denied"
          : status == SmiStatus::kNotSupported ? "Feature not supported"
                                               : nullptr;
  return SmiStatus::kSuccess;
}
}
