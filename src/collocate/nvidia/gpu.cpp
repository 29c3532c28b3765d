#include "collocate/nvidia/gpu.h"

#include <fmt/core.h>

#include <algorithm>

#include "collect/nvidia/process_room.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collocate::nvidia {
namespace {

constexpr unsigned kMostProcesses = 256;

template <class F>
std::string read_text(const F& function, Device device) {
  char text[kProfileNameSize] = {};
  const Status status = function(device, text, static_cast<unsigned>(sizeof text - 1));
  return status == Status::kSuccess ? std::string(text) : std::string();
}

template <class Process>
bool append_pids(const Function<Device, unsigned*, Process*>& function, Device device,
                 std::vector<unsigned>& pids) {
  collect::nvidia::ProcessRoom room(kMostProcesses);
  const auto call = [&](unsigned* count, void* list) {
    return function(device, count, static_cast<Process*>(list));
  };
  if (room.fill(call) != Status::kSuccess) return false;
  for (unsigned i = 0; i < room.count(); ++i) pids.push_back(room.at(i).pid);
  return true;
}

// "00000000:65:00.0", "0000:65:00.0" and "65:00.0" are one address.
std::string short_address(std::string_view written) {
  const std::string lower = lower_ascii(written);
  const auto colon = lower.find(':');
  if (colon == std::string::npos) return "";
  const bool has_domain = lower.find(':', colon + 1) != std::string::npos;
  if (!has_domain) return "0000:" + lower;
  const std::string domain = lower.substr(0, colon);
  return (domain.size() > 4 ? domain.substr(domain.size() - 4) : domain) + lower.substr(colon);
}

}  // namespace

Result<std::vector<Gpu>> find_gpus(const Control& control) {
  const ControlFunctions& f = control.call();
  unsigned count = 0;
  TRY(control.check(f.count(&count), "counting the GPUs"));
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.index = i;
    if (f.device(i, &gpu.handle) != Status::kSuccess) continue;
    gpu.uuid = read_text(f.uuid, gpu.handle);
    gpu.name = read_text(f.name, gpu.handle);
    PciAddress pci{};
    if (f.pci(gpu.handle, &pci) == Status::kSuccess)
      gpu.address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    if (!gpu.uuid.empty()) gpus.push_back(std::move(gpu));
  }
  return gpus;
}

const Gpu* find_gpu(const std::vector<Gpu>& gpus, std::string_view written) {
  const auto index = parse_int(written);
  const std::string address = short_address(written);
  const Gpu* found = nullptr;
  for (const Gpu& gpu : gpus) {
    if (gpu.uuid == written) return &gpu;
    const bool begins = written.size() > 4 && written.starts_with("GPU-") &&
                        std::string_view(gpu.uuid).starts_with(written);
    const bool same = (index && *index == std::int64_t{gpu.index}) || begins ||
                      (!address.empty() && address == gpu.address);
    if (!same) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

Result<Gpu> find_gpu_by_uuid(const Control& control, std::string_view uuid) {
  for (Gpu& gpu : TRY(find_gpus(control))) {
    if (gpu.uuid == uuid) return std::move(gpu);
  }
  return fail(Code::kNotFound, fmt::format("{}: no such GPU (any more)", uuid));
}

std::vector<unsigned> processes_on(const Control& control, Device device) {
  const ControlFunctions& f = control.call();
  std::vector<unsigned> pids;
  if (!append_pids(f.processes, device, pids)) append_pids(f.processes_v1, device, pids);
  append_pids(f.mps_processes, device, pids);
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::string process_list(const std::vector<unsigned>& pids) {
  std::string words;
  for (const unsigned pid : pids) {
    const auto name = sys::read_file(fmt::format("/proc/{}/comm", pid));
    words += fmt::format("{}{}", words.empty() ? "" : ", ", pid);
    if (name && !trim(*name).empty()) words += fmt::format(" ({})", trim(*name));
  }
  return words;
}

}  // namespace corral::collocate::nvidia
