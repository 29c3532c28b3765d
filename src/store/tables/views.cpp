#include "store/tables/views.h"

#include <fmt/core.h>

#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

// There are 2^40 ids: that so many are taken by other states never happens by chance.
constexpr int kAttempts = 16;
constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";

enum class Place { kFree, kSame, kTaken };

Result<Place> place_of(Connection& db, std::string_view id, const std::string& state) {
  Statement row = TRY(db.query(
      "SELECT CASE WHEN state = ?2 THEN 1 ELSE 0 END FROM views WHERE id = ?1", id, state));
  if (!TRY(row.step())) return Place::kFree;
  return row.integer(0) != 0 ? Place::kSame : Place::kTaken;
}

}  // namespace

std::string view_id(const std::string& state, int attempt) {
  const Sha256 hash = sha256(attempt == 0 ? state : fmt::format("{}\n{}", attempt, state));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) bits = bits << 8U | hash.at(i);
  std::string id;
  for (std::size_t i = 0; i < kViewIdLength; ++i, bits >>= 5U) id += kDigits.at(bits % 32);
  return id;
}

Result<std::string> save_view(Writing& writing, const std::string& state, UtcTime now) {
  sql::Connection& db = writing;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string id = view_id(state, attempt);
    Place place = TRY(place_of(db, id, state));
    if (place == Place::kFree) {
      TRY(
          db.exec("INSERT INTO views (id, created, state) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO "
                  "NOTHING",
                  id, now, state));
      // Another server may have been first, with this state or with another one.
      place = TRY(place_of(db, id, state));
      if (place == Place::kFree) return fail(Code::kConflict, "the view was written meanwhile");
    }
    if (place == Place::kSame) return id;
  }
  return fail(Code::kInternal, "no id is free for this view");
}

Result<std::optional<View>> view(Reading& reading, std::string_view id) {
  sql::Connection& db = reading;
  Statement row = TRY(db.query("SELECT id, state, created FROM views WHERE id = ?1", id));
  if (!TRY(row.step())) return std::nullopt;
  return View{.id = row.text(0), .state = row.text(1), .created = row.utc(2)};
}

}  // namespace corral::store::page
