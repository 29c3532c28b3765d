#include "run/run_name.h"

#include <fmt/core.h>

#include <array>

namespace corral::run {

std::string make_run_name(RunId run) {
  constexpr std::array kFirst = {"amber",  "brisk", "calm",  "dusty", "eager", "fleet",
                                 "gentle", "hardy", "ivory", "jolly", "keen",  "lively",
                                 "mellow", "noble", "proud", "quiet"};
  constexpr std::array kSecond = {"alder",  "bronco", "colt",    "dapple", "elm",  "filly",
                                  "gallop", "hazel",  "juniper", "lasso",  "mare", "mustang",
                                  "oak",    "pinto",  "roan",    "willow"};
  return fmt::format("{}-{}-{:02}", kFirst[run.bytes[0] % kFirst.size()],
                     kSecond[run.bytes[1] % kSecond.size()], run.bytes[2] % 100);
}

}  // namespace corral::run
