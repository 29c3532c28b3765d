#include "collect/amd/amdsmi.h"

#include <fmt/core.h>

#include <algorithm>

namespace corral::collect::amd {
namespace {

constexpr std::uint64_t kGpusOnly = 2;  // the kind that init looks for
constexpr double kMicro = 1e-6;

// As the library packs it: function in the lowest 3 bits, device in 5, bus in 8, domain above.
std::string format_address(std::uint64_t address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address >> 16U, (address >> 8U) & 0xffU,
                     (address >> 3U) & 0x1fU, address & 7U);
}

}  // namespace

AmdSmi::~AmdSmi() {
  if (started_) shut_down_();
}

Result<std::unique_ptr<const AmdSmi>> AmdSmi::open(const std::string& library) {
  const auto loaded = vendor::Library::open(
      library, {"libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so"});
  if (!loaded) {
    return fail(Code::kUnsupported, "amdsmi is not installed here: " + loaded.error().message);
  }
  std::unique_ptr<AmdSmi> smi(new AmdSmi(*loaded));
  TRY(smi->start());
  return smi;
}

Result<> AmdSmi::start() {
  const auto check = [&](SmiStatus status) -> Result<> {
    if (status == SmiStatus::kSuccess) return {};
    return fail(Code::kUnavailable, "amdsmi: " + words(status));
  };
  TRY(check(init_(kGpusOnly)));
  started_ = true;
  std::uint32_t count = 0;
  TRY(check(sockets_(&count, nullptr)));
  std::vector<void*> sockets(count);
  TRY(check(sockets_(&count, sockets.data())));
  sockets.resize(std::min<std::size_t>(count, sockets.size()));
  for (void* socket : sockets) {
    std::uint32_t on_socket = 0;
    TRY(check(processors_(socket, &on_socket, nullptr)));
    std::vector<Processor> processors(on_socket);
    TRY(check(processors_(socket, &on_socket, processors.data())));
    processors.resize(std::min<std::size_t>(on_socket, processors.size()));
    known_.insert(known_.end(), processors.begin(), processors.end());
  }
  return {};
}

AmdSmi::Processor AmdSmi::find(std::string_view pci_address) const {
  for (Processor processor : known_) {
    std::uint64_t address = 0;
    if (address_(processor, &address) == SmiStatus::kSuccess &&
        format_address(address) == pci_address)
      return processor;
  }
  return nullptr;
}

SmiStatus AmdSmi::energy(Processor processor, double& joules) const {
  std::uint64_t steps = 0;
  float microjoules = 0;
  std::uint64_t time_ns = 0;
  const SmiStatus status = energy_count_(processor, &steps, &microjoules, &time_ns);
  // A counter that stands at 0 is none.
  if (status == SmiStatus::kSuccess && steps == 0) return SmiStatus::kNotSupported;
  joules = static_cast<double>(steps) * static_cast<double>(microjoules) * kMicro;
  return status;
}

// Since there is the call (ROCm 6.3) its struct begins with two times, the firmware's steps and the
// five limits, each all ones where it is not counted.
SmiStatus AmdSmi::violations(Processor processor, Residencies& counts) const {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::ranges::fill(*room_, kNone);
  const SmiStatus status = violation_status_(processor, room_->data());
  if (status != SmiStatus::kSuccess) return status;
  const auto word = [&](std::size_t at) { return static_cast<std::uint32_t>((*room_)[at]); };
  if ((*room_)[2] == kNone) return SmiStatus::kNotSupported;
  counts = {
      .time_ns = 0, .steps = word(2), .limits = {word(3), word(4), word(5), word(6), word(7)}};
  return status;
}

std::string AmdSmi::words(SmiStatus status) const {
  const char* text = nullptr;
  if (status_text_(status, &text) == SmiStatus::kSuccess && text != nullptr) return text;
  return fmt::format("status {}", static_cast<std::uint32_t>(status));
}

}  // namespace corral::collect::amd
