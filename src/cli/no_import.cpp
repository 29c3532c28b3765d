#include "cli/answers.h"
#include "cli/command.h"
#include "cli/import_database.h"

namespace corral::cli {

int import_database(const DatabaseFlags&) {
  complain("import", "this corral was built without MLflow's interface (CORRAL_COMPAT=OFF)");
  return kFailed;
}

}  // namespace corral::cli
