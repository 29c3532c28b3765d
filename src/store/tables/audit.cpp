#include "store/tables/audit.h"

#include "store/engine/database.h"

namespace corral::store::audit {

using sql::Statement;

namespace {

Entry entry_at(const Statement& row) {
  return {.id = row.integer(0),
          .time = row.utc(1),
          .user = row.text(2),
          .address = row.text(3),
          .request = row.text(4),
          .detail = row.text(5),
          .status = row.is_null(6) ? std::nullopt : std::optional(row.integer(6))};
}

}  // namespace

Result<std::int64_t> begin(Writing& writing, const Entry& entry) {
  TRY(
      writing->exec("DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE time < ?1 ORDER BY "
                    "time LIMIT 100)",
                    entry.time - kKept));
  const auto id = TRY(writing->number(
      "INSERT INTO audit (time, person, address, request, detail, status) VALUES (?1, ?2, ?3, ?4, "
      "?5, NULL) RETURNING id",
      entry.time, entry.user, entry.address, entry.request, entry.detail));
  return id.value_or(0);
}

Result<> end(Writing& writing, std::int64_t id, std::int64_t status) {
  return writing->exec("UPDATE audit SET status = ?2 WHERE id = ?1", id, status);
}

Result<std::vector<Entry>> entries_after(Reading& reading, std::int64_t id, std::size_t limit) {
  return sql::read_all(
      reading->query("SELECT id, time, person, address, request, detail, status FROM audit WHERE "
                     "id > ?1 ORDER BY id LIMIT ?2",
                     id, static_cast<std::int64_t>(limit)),
      entry_at);
}

Result<std::int64_t> newest(Reading& reading) {
  return TRY(reading->number("SELECT max(id) FROM audit")).value_or(0);
}

Result<std::vector<Entry>> entries(Reading& reading, const Filter& filter) {
  const std::string_view user = filter.user ? std::string_view(*filter.user) : std::string_view();
  return sql::read_all(
      reading->query(
          "SELECT id, time, person, address, request, detail, status FROM audit WHERE id < ?1 AND "
          "time >= ?2 AND time <= ?3 AND (?4 = 0 OR person = ?5) ORDER BY id DESC LIMIT ?6",
          filter.before, filter.from.value_or(UtcTime::min()), filter.to.value_or(UtcTime::max()),
          filter.user ? 1 : 0, user, static_cast<std::int64_t>(filter.limit)),
      entry_at);
}

}  // namespace corral::store::audit
