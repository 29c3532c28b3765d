// Raw access to a store's SQLite file, past the store: the database's own check, and damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace corral::store::faults {

// The answer of `PRAGMA integrity_check` when it is not "ok", or why it could not run.
std::string integrity_problem(const std::filesystem::path& database);

// The number that a query gives.
std::int64_t number_of(const std::filesystem::path& database, const std::string& query);

struct BlobColumn {
  const char* table = "";
  const char* column = "";
};
// The different blobs of a column.
std::vector<std::vector<std::uint8_t>> blobs(const std::filesystem::path& database,
                                             const BlobColumn& column);
// Puts `damaged` wherever `good` stands.
void replace_blob(const std::filesystem::path& database, const BlobColumn& column,
                  const std::vector<std::uint8_t>& good, const std::vector<std::uint8_t>& damaged);

}  // namespace corral::store::faults
