#include "store/model/records.h"

namespace corral::store {

std::string_view status_name(RunStatus status) {
  switch (status) {
    case RunStatus::kRunning:
      return "running";
    case RunStatus::kFinished:
      return "finished";
    case RunStatus::kFailed:
      return "failed";
    case RunStatus::kStopped:
      return "stopped";
    case RunStatus::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace corral::store
