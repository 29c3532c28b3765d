// Facts: the recorded properties of a run: command, machine, code version, and the overhead of its
// collectors.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "collect/sampler/lanes.h"
#include "core/time.h"
#include "run/command.h"
#include "run/options.h"
#include "run/set_up/kept_code.h"
#include "spool/run_directory.h"

namespace corral::run {

// Returns params and tags of the command line, and facts that need only a few file reads.
std::vector<codec::Fact> quick_facts(const Options& options, const Command& command);

// Returns the set-up (set_up/set_up.h): code, interpreter, packages, variables, and properties of
// the host that affect measurements. It runs other programs at idle priority, each for a minute at
// most, so it is called on a thread of its own after the command has started. A missing fact is an
// "unavailable" fact with the reason. `code` was kept, and takes the diff.
std::vector<codec::Fact> slow_facts(const Options& options, const Command& command,
                                    set_up::KeptCode& code);

// Collects the code of a command that started at `started_ns` since 1970, to be kept in `directory`
// of the spool.
set_up::KeptCode make_kept_code(const Options& options, const Command& command,
                                const spool::RunDirectory& directory, std::int64_t started_ns);

// Returns the files of the Python modules that processes of the command have noted at their end.
std::vector<spool::fs::path> noted_modules(const spool::RunDirectory& directory);

// Returns those of `facts` (from slow_facts()) that differ now, after more of the code became
// known.
std::vector<codec::Fact> changed_code_facts(std::vector<codec::Fact> facts, const Command& command,
                                            const set_up::KeptCode& code);

// Returns hashes of the data that the command was given by path (set_up/data_sets.h), as far as
// `stop` leaves time for them.
std::vector<codec::Fact> data_facts(const Options& options, const Command& command,
                                    const std::function<bool()>& stop);

// CollectingCost: the measured overhead of the collectors, as one line at the end of `corral run`
// and as facts for the run's page.
struct CollectingCost {
  Nanos cpu{0};  // CPU time of this process with all its threads
  Nanos wall{0};
  std::uint64_t peak_memory = 0;  // bytes; 0: not known
  std::uint64_t written = 0;      // bytes of frames
  collect::Lanes::Ticks ticks;
  Nanos lateness_p50{0};
  Nanos lateness_p99{0};
  Nanos lateness_greatest{0};
};

// Measures this process now; `wall` is the duration of the run.
CollectingCost measure_cost(const collect::Lanes& lanes, Nanos wall, std::uint64_t written);

// Returns one clause if recording was so slow or costly that it matters: "11 % of 36,000 samples
// were late: short peaks may be missing"; else an empty text.
std::string cost_summary(const CollectingCost& cost);
std::vector<codec::Fact> cost_facts(const CollectingCost& cost);

}  // namespace corral::run
