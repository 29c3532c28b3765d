#include "store/search/removed_artifacts.h"
#include "store/engine/database.h"

namespace corral::store::tracking {

Result<std::vector<RemovedArtifacts>> removed_artifacts(Reading& reading, std::int64_t after,
                                                        std::int64_t limit) {
  sql::Connection& db = reading;
  std::vector<RemovedArtifacts> all;
  sql::Statement row =
      TRY(db.query("SELECT id, location FROM removed_artifacts WHERE id > ?1 ORDER BY id LIMIT ?2",
                   after, limit));
  while (TRY(row.step())) all.push_back({.id = row.integer(0), .location = row.text(1)});
  return all;
}

Result<> forget_removed_artifacts(Writing& writing, std::span<const std::int64_t> ids) {
  sql::Connection& db = writing;
  for (const std::int64_t id : ids)
    TRY(db.defer("DELETE FROM removed_artifacts WHERE id = ?1", id));
  return {};
}

}  // namespace corral::store::tracking
