// Adoption: finds and locks a run whose supervisor was killed, for a new supervisor.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "run/options.h"
#include "spool/run_directory.h"

namespace corral::run {

// Finds the run's directory in the spool by its id or the beginning of it. kNotFound: the spool has
// nothing of it.
Result<spool::fs::path> find_spooled(const Options& options);

// Returns `options` with the settings that the run was started with.
Options adopted_options(const spool::Manifest& manifest, Options options);

// Locks the run's directory. A server that finishes the run's data releases it within seconds.
// kConflict: the supervisor lives; kUnavailable: the holder does not release it, or `give_up`
// returned true.
Result<spool::RunDirectory> take_over(const spool::fs::path& path,
                                      const std::function<bool()>& give_up);

}  // namespace corral::run
