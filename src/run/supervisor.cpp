#include "run/supervisor.h"

#include <cstdio>
#include <cstdlib>

#include "run/adoption.h"
#include "run/supervision.h"

namespace corral::run {

namespace {

// As the run's manifest says; adopt() tells what is wrong with one that cannot be read.
Options options_of_adoption(const Options& options) {
  const auto path = find_spooled(options);
  const auto manifest =
      path ? spool::RunDirectory::read_manifest(*path) : tl::unexpected(path.error());
  return manifest ? options_of(*manifest, options) : options;
}

}  // namespace

int supervise(const Options& options) {
  const bool adopt = !options.adopt.empty();
  Options own = adopt ? options_of_adoption(options) : options;
  if (!own.run_id) own.run_id = RunId::random();
  Supervision supervision(own);
  const int status = adopt ? supervision.adopt() : supervision.run();
  if (!supervision.left_thread_behind()) return status;
  // A driver that hangs may hold locks that its library's destructors want.
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace corral::run
