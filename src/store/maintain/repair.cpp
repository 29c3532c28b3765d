#include "store/maintain/repair.h"

#include <vector>

#include "codec/block/pyramid.h"
#include "store/maintain/rebuild_series.h"
#include "store/maintain/rebuild_slices.h"

namespace corral::store::maintain {
namespace {

Result<std::vector<SeriesId>> series_of(sql::Connection& db, std::int64_t session) {
  std::vector<SeriesId> series;
  sql::Statement row = TRY(db.query(
      "SELECT DISTINCT series FROM session_series WHERE session = ?1 ORDER BY series", session));
  while (TRY(row.step())) series.push_back(SeriesId{row.integer(0)});
  return series;
}

Result<bool> is_good(sql::Connection& db, SeriesId series) {
  sql::Statement row = TRY(db.query("SELECT data FROM pyramid WHERE series = ?1", series));
  while (TRY(row.step())) {
    if (!codec::decode_pyramid_row(row.blob(0))) return false;
  }
  return true;
}

}  // namespace

Result<> repair_session(sql::Connection& db, std::int64_t session) {
  Findings findings(db);
  const Watch watch;
  for (const SeriesId series : TRY(series_of(db, session))) {
    if (!TRY(is_good(db, series))) TRY(rebuild_series(db, findings, series, watch));
  }
  TRY(rebuild_slices(db, findings, session));
  return {};
}

}  // namespace corral::store::maintain
