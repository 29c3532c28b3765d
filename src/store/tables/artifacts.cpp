#include "store/tables/artifacts.h"

#include "store/engine/database.h"

namespace corral::store::page {
namespace {

constexpr std::string_view kMark = "SELECT value FROM meta WHERE key = 'artifacts'";
constexpr std::string_view kAt = "artifacts at ";

}  // namespace

Result<ArtifactMark> artifact_mark(Reading& reading) {
  ArtifactMark known;
  known.shared = reading->dialect().shared;
  known.mark = TRY(reading->number(kMark));
  auto row = TRY(reading->query("SELECT key FROM meta WHERE key LIKE 'artifacts at %'"));
  if (TRY(row.step())) known.place = row.text(0).substr(kAt.size());
  return known;
}

Result<std::int64_t> agree_on_artifact_mark(Writing& writing, std::int64_t fresh,
                                            const std::string& place) {
  if (TRY(writing->number("INSERT INTO meta (key, value) VALUES ('artifacts', ?1) ON CONFLICT "
                          "(key) DO NOTHING RETURNING 1",
                          fresh))) {
    TRY(writing->exec("INSERT INTO meta (key, value) VALUES (?1, 1) ON CONFLICT (key) DO NOTHING",
                      std::string(kAt) + place));
  }
  return TRY(writing->number(kMark)).value_or(fresh);
}

Result<std::vector<RemovedArtifacts>> removed_artifacts(Reading& reading, std::int64_t after,
                                                        std::int64_t limit) {
  return sql::read_all(
      reading->query(
          "SELECT id, location FROM removed_artifacts WHERE id > ?1 ORDER BY id LIMIT ?2", after,
          limit),
      [](const sql::Statement& row) {
        return RemovedArtifacts{.id = row.integer(0), .location = row.text(1)};
      });
}

Result<> forget_removed_artifacts(Writing& writing, std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids)
    TRY(writing->defer("DELETE FROM removed_artifacts WHERE id = ?1", id));
  return {};
}

}  // namespace corral::store::page
