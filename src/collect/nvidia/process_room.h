// ProcessRoom: room for a driver's list of processes, with entries of any size.
//
// The size is in no name and no version: one function has written 24 bytes for each process, 32
// (drivers 535.43 to 535.86) and 16 (a 550.127). The number of bytes written shows which size it
// is. One thread; no allocation after construction.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {

class ProcessRoom {
 public:
  explicit ProcessRoom(unsigned entries)
      : entries_(entries),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(entries * kGreatest)) {}

  // Calls a function for a list; its result is valid until the next call.
  template <class Entry>
  Status ask(const Function<Device, unsigned*, Entry*>& list, Device device) {
    return fill([&](unsigned* count, void* entries) {
      return list(device, count, static_cast<Entry*>(entries));
    });
  }
  // The same of anything that is called with the count and the room for the list.
  template <class Call>
  Status fill(const Call& call) {
    std::memset(bytes_.get(), kUntouched, entries_ * kGreatest);
    unsigned count = entries_;
    const Status status = call(&count, static_cast<void*>(bytes_.get()));
    count_ = status == Status::kSuccess ? std::min(count, entries_) : 0;
    size_ = entry_size();
    return status;
  }
  [[nodiscard]] unsigned count() const { return count_; }
  // All sizes begin alike.
  [[nodiscard]] ProcessV1 at(unsigned index) const {
    ProcessV1 process{};
    std::memcpy(&process, bytes_.get() + index * size_, sizeof process);
    return process;
  }

 private:
  static constexpr int kUntouched = 0xA5;
  static constexpr std::size_t kUsual = sizeof(ProcessV2);
  static constexpr std::size_t kGreatest = 32;  // with a number of protected bytes

  // Returns true if anything was written at that place.
  [[nodiscard]] bool touched(std::size_t at) const {
    std::array<std::byte, 4> none;
    none.fill(std::byte{kUntouched});
    return at + none.size() <= entries_ * kGreatest &&
           std::memcmp(bytes_.get() + at, none.data(), none.size()) != 0;
  }
  // The size whose last entry's last bytes are the last that were written.
  [[nodiscard]] std::size_t entry_size() const {
    for (const std::size_t size : {kGreatest, kUsual, sizeof(ProcessV1)}) {
      const std::size_t end = count_ * size;
      if (end >= size && touched(end - 4) && !touched(end)) return size;
    }
    return kUsual;
  }

  unsigned entries_;
  std::unique_ptr<std::byte[]> bytes_;
  unsigned count_ = 0;
  std::size_t size_ = kUsual;
};

}  // namespace corral::collect::nvidia
