// AmdSmi: AMD's management library, found at run time: for what the driver's files do not tell.
//
// Its structs change from version to version without a version word, so only calls are made whose
// arguments are plain numbers and the same in all of them. Left out for that reason: its process
// list and its violation status (which sleeps 100 ms besides); the driver's files have both. One
// thread; calls read files of the driver and allocate nothing of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  [[nodiscard]] std::string words(SmiStatus status) const;

 private:
  explicit AmdSmi(const vendor::Library& library);
  Result<> start();

  SmiFunction<std::uint64_t> init_;
  SmiFunction<> shut_down_;
  SmiFunction<std::uint32_t*, void**> sockets_;
  SmiFunction<void*, std::uint32_t*, Processor*> processors_;
  SmiFunction<Processor, std::uint64_t*> address_;
  SmiFunction<Processor, std::uint64_t*, float*, std::uint64_t*> energy_count_;  // uJ of a step; ns
  SmiFunction<SmiStatus, const char**> status_text_;
  bool started_ = false;
  std::vector<Processor> known_;
};

}  // namespace corral::collect::amd
