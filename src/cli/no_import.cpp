#include "cli/answers.h"
#include "cli/command.h"

namespace corral::cli {

int import_command(std::span<char* const>) {
  complain("import", "this corral was built without MLflow's interface (CORRAL_COMPAT=OFF)");
  return kFailed;
}

}  // namespace corral::cli
