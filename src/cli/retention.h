// `corral serve --keep-days N --keep-bytes SIZE`: the job that removes old runs.
#pragma once

#include <string>

#include "server/life.h"
#include "store/store.h"

namespace corral::cli {

struct RetentionFlags {
  std::string days;
  std::int64_t bytes = 0;  // 0: no limit
};

// kInvalidArgument. Neither age nor bytes: nothing is to be removed.
Result<store::Retention> retention_of(const RetentionFlags& flags);

// Prunes at once and then every hour, and reports removed runs on stderr. The store must outlive
// the job.
server::BackgroundJob keep_within(store::Store& store, const store::Retention& retention);

}  // namespace corral::cli
