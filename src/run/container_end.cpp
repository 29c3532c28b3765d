#include "run/container_end.h"

#include "environment/environment.h"

namespace corral::run {

std::optional<int> container_end(const spool::Manifest& run) {
  if (!run.container) return std::nullopt;
  const environment::Prepared prepared = environment::of_container(run.container->program);
  const auto status = environment::exit_status_of(prepared, run.container->name);
  [[maybe_unused]] const auto gone =
      environment::discard(prepared, run.container->name, run.container->group);
  return status ? std::optional(*status) : std::nullopt;
}

}  // namespace corral::run
