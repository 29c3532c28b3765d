#include "store/tables/artifact_mark.h"

#include "store/engine/database.h"

namespace corral::store::page {
namespace {

constexpr std::string_view kMark = "SELECT value FROM meta WHERE key = 'artifacts'";
constexpr std::string_view kAt = "artifacts at ";

}  // namespace

Result<ArtifactMark> artifact_mark(Reading& reading) {
  sql::Connection& db = reading;
  ArtifactMark known;
  known.shared = db.dialect().shared;
  known.mark = TRY(db.number(kMark));
  auto row = TRY(db.query("SELECT key FROM meta WHERE key LIKE 'artifacts at %'"));
  if (TRY(row.step())) known.place = row.text(0).substr(kAt.size());
  return known;
}

Result<std::int64_t> agree_on_artifact_mark(Writing& writing, std::int64_t fresh,
                                            const std::string& place) {
  sql::Connection& db = writing;
  if (TRY(db.number("INSERT INTO meta (key, value) VALUES ('artifacts', ?1) ON CONFLICT (key) DO "
                    "NOTHING RETURNING 1",
                    fresh))) {
    TRY(db.exec("INSERT INTO meta (key, value) VALUES (?1, 1) ON CONFLICT (key) DO NOTHING",
                std::string(kAt) + place));
  }
  return TRY(db.number(kMark)).value_or(fresh);
}

}  // namespace corral::store::page
