// Keys of `corral watch`, from the bytes that a terminal sends for them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::cli {

enum class WatchKey : std::uint8_t {
  kQuit,
  kBack,
  kOpen,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kSuspend,
  kRedraw
};

// Takes the keys at the front of `typed`, and drops the bytes of others. The begin of a sequence
// stays there, because its rest may come later over a slow line: with `complete` it is a key of its
// own.
std::vector<WatchKey> take_keys(std::string& typed, bool complete);

}  // namespace corral::cli
