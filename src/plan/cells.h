// Cells: what each column's text means. Pure; nothing here knows rows or files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace corral::plan {

struct Refusal {
  std::string reason;
  std::string advice = {};
};
// Nothing: the cell was taken.
using Verdict = std::optional<Refusal>;

// "-", "naive", "timeslicing", "mps", "mps=50", "mps:threads=50;memory=8G;priority=1", "3g.20gb".
Verdict read_collocation(std::string_view text, Share& share);
// "0", "0+1", "GPU-…", "MIG-…", "00000000:65:00.0"; "", "-", "cpu", "none": no device.
Verdict read_devices(std::string_view text, Share& share);
// "4" (so many), "0-3", "0-3+8", "cpus=5"; behind it ";node=0", ";smt=split".
Verdict read_cpus(std::string_view text, Share& share);
// "16G".
Verdict read_memory(std::string_view text, Share& share);
// "time=2h;epochs=5;steps=100;cpu=1.5;io=500".
Verdict read_limits(std::string_view text, Row& row);
// "1410", "sm=1410;memory=1215": MHz.
Verdict read_clocks(std::string_view text, Share& share);
// "250", "250W".
Verdict read_power(std::string_view text, Share& share);
// "as-is", "cold", "warm".
Verdict read_cache(std::string_view text, Share& share);
Verdict read_repeat(std::string_view text, int& repeat);
// "yes", "true", "1", "x"; "", "no", "false", "0", "-".
Verdict read_flag(std::string_view text, bool& flag);
// "all", "first", "this".
Verdict read_end(std::string_view text, WorkloadEnd& end);
// "key=value;other=value".
Verdict read_pairs(std::string_view text, Pairs& pairs);
// The same for variables: names of letters, digits and _.
Verdict read_env(std::string_view text, Pairs& env);
// "1+2".
std::vector<std::string> read_after(std::string_view text);

}  // namespace corral::plan
