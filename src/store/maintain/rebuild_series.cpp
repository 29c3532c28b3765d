#include "store/maintain/rebuild_series.h"

#include <fmt/core.h>

#include "metric/catalogue.h"
#include "store/maintain/pyramid_maker.h"
#include "store/model/content.h"

namespace corral::store::maintain {
namespace {

using sql::Blob;
using sql::Connection;
using sql::Statement;

class SeriesRebuild {
 public:
  SeriesRebuild(Connection& db, Findings& findings, SeriesId id)
      : db_(db), findings_(findings), id_(id) {}

  // Rows that were written.
  Result<std::int64_t> run(const Watch& watch);

 private:
  Result<> take(PyramidMaker& maker, const StoredBlock& block);
  Result<bool> fill(PyramidMaker& maker, std::int64_t next);
  Result<> gap(PyramidMaker& maker, const StoredBlock& block);
  Result<> write(const MadeRow& made);

  Connection& db_;
  Findings& findings_;
  const SeriesId id_;
  std::int64_t reached_ = 0;  // newest time before a gap
};

Result<std::int64_t> SeriesRebuild::run(const Watch& watch) {
  std::int64_t blocks = 0;
  bool counter = false;
  {
    const std::string sql =
        "SELECT blocks, kind FROM series WHERE id = ?1" + std::string(db_.dialect().lock_row);
    Statement row = TRY(db_.query(sql, id_));
    if (!TRY(row.step())) return 0;
    blocks = row.integer(0);
    counter = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  }
  TRY(db_.exec("DELETE FROM pyramid WHERE series = ?1", id_));
  if (blocks == 0) return 0;
  PyramidMaker maker(counter, [&](const MadeRow& made) { return write(made); });
  const auto one = [&](const StoredBlock& block) -> Result<> {
    TRY(watch.at("blocks of series " + std::to_string(id_.value), block.no, blocks));
    return block.no < blocks ? take(maker, block) : Result<>();
  };
  TRY(each_block(db_, id_, one));
  if (!TRY(fill(maker, blocks)))
    TRY(db_.exec("UPDATE series SET blocks = ?2 WHERE id = ?1", id_, maker.blocks()));
  TRY(maker.finish());
  TRY(db_.flush());
  return maker.rows();
}

Result<> SeriesRebuild::take(PyramidMaker& maker, const StoredBlock& block) {
  if (!TRY(fill(maker, block.no))) return {};
  if (!block.problem.empty()) return gap(maker, block);
  reached_ = block.times.back();
  return maker.add(block);
}

// Blocks that are not there. False: too many to be true, nothing was done.
Result<bool> SeriesRebuild::fill(PyramidMaker& maker, std::int64_t next) {
  if (next - maker.blocks() > kMostMissing) {
    findings_.add_series("series",
                         fmt::format("blocks {} to {} are missing", maker.blocks(), next - 1), id_);
    return false;
  }
  while (maker.blocks() < next) {
    StoredBlock missing;
    missing.no = maker.blocks();
    missing.problem = "it is missing";
    TRY(gap(maker, missing));
  }
  return true;
}

Result<> SeriesRebuild::gap(PyramidMaker& maker, const StoredBlock& block) {
  const std::int64_t t0 = block.times.empty() ? reached_ : block.times.front();
  const std::int64_t t1 = block.times.empty() ? reached_ : block.times.back();
  TRY(tell_of_gap(db_, findings_, id_, block, t0));
  reached_ = t1;
  return maker.add_gap(t0, t1);
}

Result<> SeriesRebuild::write(const MadeRow& made) {
  const std::string data = codec::encode_pyramid_row(made.row);
  return db_.defer(
      "INSERT INTO pyramid (series, channel, tier, no, data) VALUES (?1, ?2, ?3, ?4, ?5)", id_,
      made.channel, made.tier, made.no,
      Blob(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()));
}

}  // namespace

Result<std::int64_t> rebuild_series(Connection& db, Findings& findings, SeriesId id,
                                    const Watch& watch) {
  return SeriesRebuild(db, findings, id).run(watch);
}

Result<> tell_of_gap(Connection& db, Findings& findings, SeriesId id, const StoredBlock& block,
                     std::int64_t time) {
  findings.add_series("blocks", fmt::format("block {}: {}", block.no, block.problem), id);
  if (block.session == 0) return {};  // it is missing
  std::string name;
  {
    Statement row = TRY(db.query("SELECT name FROM series WHERE id = ?1", id));
    if (TRY(row.step())) name = "8192 points of " + row.text(0) + " are damaged";
  }
  const std::string attributes =
      attributes_json({{"series", std::to_string(id.value)}, {"block", std::to_string(block.no)}});
  return db.exec(
      "INSERT INTO events (run, session, time, name, origin, attributes) SELECT s.run, s.key, "
      "CASE WHEN ?2 = 0 THEN s.started ELSE ?2 END, ?3, 'corral', ?4 FROM sessions s WHERE s.key = "
      "?1 AND NOT EXISTS (SELECT 1 FROM events e WHERE e.session = s.key AND e.name = ?3 AND "
      "e.attributes = ?4)",
      block.session, time, std::string_view(name), std::string_view(attributes));
}

}  // namespace corral::store::maintain
