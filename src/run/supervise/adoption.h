// Adoption: a run whose supervisor was killed, and that another process is to go on supervising.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "run/options.h"
#include "spool/run_directory.h"

namespace corral::run {

// The run's directory in the spool, by its id or the beginning of it. kNotFound: nothing of it is
// there any more.
Result<spool::fs::path> find_spooled(const Options& options);

// `options` with everything that the run was started with.
Options options_of(const spool::Manifest& manifest, Options options);

// Its directory, locked. A server that finishes the run's data lets go within seconds.
// kConflict: its supervisor lives; kUnavailable: who has it does not let go, or `give_up` said so.
Result<spool::RunDirectory> take_over(const spool::fs::path& path,
                                      const std::function<bool()>& give_up);

}  // namespace corral::run
