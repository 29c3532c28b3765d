#include "run/supervise/supervisor.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/text.h"
#include "run/supervise/adoption.h"
#include "run/supervise/in_place.h"
#include "run/supervise/lifeline.h"
#include "run/supervise/room.h"
#include "run/supervise/supervision.h"

namespace corral::run {

namespace {

// Returns the options of the run's manifest; adopt() reports an unreadable one.
Options options_of_adoption(const Options& options) {
  const auto path = find_spooled(options);
  const auto manifest =
      path ? spool::RunDirectory::read_manifest(*path) : tl::unexpected(path.error());
  return manifest ? options_of(*manifest, options) : options;
}

int supervise(const Options& options, const InPlace& in_place, std::string lacking) {
  const bool adopt = !options.adopt.empty();
  Options own = adopt ? options_of_adoption(options) : options;
  if (!own.run_id) own.run_id = RunId::random();
  Supervision supervision(own, in_place, std::move(lacking));
  const int status = adopt ? supervision.adopt() : supervision.run();
  lifeline::release();
  if (!supervision.left_thread_behind()) return status;
  // A hanging driver may hold locks that its library's destructors need.
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace

int supervise(const Options& options) {
  const InPlace in_place(options);
  lifeline::guard(in_place.possible() ? &in_place : nullptr);
  std::string lacking = options.lacking;
  if (const auto room = options.adopt.empty() ? room_to_record(options) : Result<>();
      !room && lacking.empty())
    lacking = room.error().message;
  try {
    return supervise(options, in_place, printable(lacking));
  } catch (const std::exception& e) {
    // Later exceptions are caught by code that knows the command's state.
    if (in_place.possible()) return in_place.execute(e.what());
    throw;
  }
}

}  // namespace corral::run
