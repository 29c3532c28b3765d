#include "store/engine/postgres/sqlstate.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace corral::store::postgres {
namespace {

using Entry = std::pair<std::string_view, Code>;

// Longest match first: whole codes, then classes.
constexpr Entry kCodes[] = {
    {"23505", Code::kConflict},         // unique_violation
    {"23503", Code::kConflict},         // foreign_key_violation: the row was deleted meanwhile
    {"25006", Code::kPermission},       // read_only_sql_transaction: a replica
    {"28P01", Code::kUnauthenticated},  // invalid_password
    {"3D000", Code::kNotFound},         // invalid_catalog_name
    {"3F000", Code::kPermission},       // no schema to create in
    {"42501", Code::kPermission},       // insufficient_privilege
    {"53100", Code::kNoSpace},          // disk_full
    {"54000", Code::kTooLarge},         // program_limit_exceeded
    {"55P03", Code::kUnavailable},      // lock_not_available
    {"57014", Code::kUnavailable},      // query_canceled
    {"58030", Code::kIo},               // io_error
    {"XX001", Code::kCorruption},       // data_corrupted
    {"XX002", Code::kCorruption},       // index_corrupted
    {"08", Code::kUnavailable},         // connection
    {"22", Code::kUnprocessable},       // a value that the database cannot hold
    {"25", Code::kUnavailable},         // the transaction is gone
    {"28", Code::kUnauthenticated},     // role
    {"40", Code::kUnavailable},         // rolled back: serialization, deadlock
    {"53", Code::kUnavailable},         // out of connections, memory
    {"57", Code::kUnavailable},         // the operator: shutdown, starting up
};

}  // namespace

Code code_of_sqlstate(std::string_view state) {
  const auto* found = std::ranges::find_if(
      kCodes, [&](const Entry& entry) { return state.starts_with(entry.first); });
  return found == std::end(kCodes) ? Code::kInternal : found->second;
}

bool ends_connection(std::string_view state) {
  return state.starts_with("08") || state.starts_with("57P0");
}

std::string with_dollars(std::string_view sql) {
  std::string out;
  out.reserve(sql.size());
  char quote = 0;  // ' or ", or - in a comment to the end of its line
  for (std::size_t i = 0; i < sql.size(); ++i) {
    const char c = sql[i];
    if (quote != 0) {
      if (c == quote || (quote == '-' && c == '\n')) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '-' && sql.substr(i).starts_with("--")) {
      quote = '-';
      out += sql[i++];
    }
    const bool parameter = quote == 0 && c == '?' && i + 1 < sql.size() &&
                           std::isdigit(static_cast<unsigned char>(sql[i + 1])) != 0;
    out += parameter ? '$' : sql[i];
  }
  return out;
}

}  // namespace corral::store::postgres
