// `corral serve --keep-days N --keep-bytes SIZE`: what removes runs by themselves.
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

// Prunes at once and then every hour, and says on stderr what went. The store must outlive the job.
server::BackgroundJob keep_within(store::Store& store, const store::Retention& retention);

}  // namespace corral::cli
