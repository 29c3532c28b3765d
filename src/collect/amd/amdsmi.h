// AmdSmi: AMD's management library, found at run time: for values that the driver's files lack.
//
// Its structs change from version to version without a version word, so only calls are made whose
// arguments are plain numbers and the same in all of them, and one whose struct has only ever grown
// at its end (the violation status). Left out for that reason: its process list, which the driver's
// files have. One thread; calls read files of the driver and allocate nothing of ours.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/amd/gpu_metrics.h"
#include "collect/vendor/library.h"
#include "core/result.h"

namespace corral::collect::amd {

enum class SmiStatus : std::uint32_t {
  kSuccess = 0,
  kNotSupported = 2,
  kFailedSymbol = 5,
  kNoPermission = 10,
};
template <class... Arguments>
using SmiFunction = vendor::Function<SmiStatus, SmiStatus::kFailedSymbol, Arguments...>;

class AmdSmi {
 public:
  using Processor = void*;

  // `library`: empty for the system's. The error is why it cannot be used.
  static Result<std::unique_ptr<const AmdSmi>> open(const std::string& library);
  ~AmdSmi();
  AmdSmi(const AmdSmi&) = delete;
  AmdSmi& operator=(const AmdSmi&) = delete;

  // The GPU at a PCI address ("0000:03:00.0"); null when the library does not know it.
  [[nodiscard]] Processor find(std::string_view pci_address) const;
  // J since the driver was loaded.
  SmiStatus energy(Processor processor, double& joules) const;
  // Reads for how long each limit held the clocks down, without the reference time; a limit that is
  // not counted is kNotCounted. Sleeps 100 ms where it is supported.
  SmiStatus violations(Processor processor, Residencies& counts) const;
  [[nodiscard]] std::string words(SmiStatus status) const;

 private:
  explicit AmdSmi(const vendor::Library& library) : library_(library) {}
  Result<> start();

  vendor::Library library_;
  SmiFunction<std::uint64_t> init_{library_, {"amdsmi_init"}};
  SmiFunction<> shut_down_{library_, {"amdsmi_shut_down"}};
  SmiFunction<std::uint32_t*, void**> sockets_{library_, {"amdsmi_get_socket_handles"}};
  SmiFunction<void*, std::uint32_t*, Processor*> processors_{library_,
                                                             {"amdsmi_get_processor_handles"}};
  SmiFunction<Processor, std::uint64_t*> address_{library_, {"amdsmi_get_gpu_device_bdf"}};
  // uJ of a step; ns
  SmiFunction<Processor, std::uint64_t*, float*, std::uint64_t*> energy_count_{
      library_, {"amdsmi_get_energy_count"}};
  SmiFunction<Processor, std::uint64_t*> violation_status_{library_,
                                                           {"amdsmi_get_violation_status"}};
  SmiFunction<SmiStatus, const char**> status_text_{library_, {"amdsmi_status_code_to_string"}};
  // Space for that call's struct, which has some 6 KiB in ROCm 7.
  using Room = std::array<std::uint64_t, 8192>;
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
  bool started_ = false;
  std::vector<Processor> known_;
};

}  // namespace corral::collect::amd
