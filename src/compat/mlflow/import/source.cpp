#include "compat/mlflow/import/source.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>

#include "core/text.h"
#include "store/engine/postgres/database.h"
#include "store/engine/sqlite/database.h"

namespace corral::store::importing {
namespace {

namespace fs = std::filesystem;

struct Needed {
  std::string_view table, columns;
};
// The same since MLflow 1.5.
constexpr std::array kNeeded = {
    Needed{"experiments", "experiment_id name artifact_location lifecycle_stage"},
    Needed{"runs",
           "run_uuid name user_id status start_time end_time lifecycle_stage artifact_uri "
           "experiment_id"},
    Needed{"params", "key value run_uuid"},
    Needed{"tags", "key value run_uuid"},
    Needed{"metrics", "key value timestamp run_uuid step is_nan"},
};
// Tables that only some releases have.
constexpr std::array kOthers = {"experiment_tags",
                                "datasets",
                                "inputs",
                                "input_tags",
                                "registered_models",
                                "registered_model_tags",
                                "registered_model_aliases",
                                "model_versions",
                                "model_version_tags",
                                "logged_models",
                                "logged_model_params",
                                "logged_model_tags",
                                "logged_model_metrics",
                                "trace_info",
                                "trace_tags",
                                "trace_request_metadata",
                                "entity_associations",
                                "spans",
                                "latest_metrics"};

constexpr std::string_view kCursor = "corral_import";
constexpr std::size_t kPage = 20'000;  // rows of a cursor at once

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

// "postgresql+psycopg2://..." is SQLAlchemy's.
std::string without_driver(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t plus = url.find('+');
  return plus < scheme ? url.substr(0, plus) + url.substr(scheme) : url;
}

Result<fs::path> parse_file(const std::string& place) {
  constexpr std::string_view kScheme = "sqlite:///";
  const std::string plain = without_driver(place);
  if (plain.starts_with(kScheme)) return fs::path(plain.substr(kScheme.size()));
  if (plain.find("://") == std::string::npos) return fs::path(plain);
  return fail(Code::kUnsupported,
              fmt::format("{} is neither a file nor the URL of a SQLite or PostgreSQL database; "
                          "`mlflow migrate-filestore` or a dump brings other stores there",
                          plain.substr(0, plain.find("://") + 3) + "..."));
}

Result<std::unique_ptr<sql::Connection>> open_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    return fail(Code::kUnsupported,
                fmt::format("{} is a directory: name the database's file in it, as mlflow.db",
                            file.string()));
  }
  if (!fs::exists(file, error))
    return fail(Code::kNotFound, fmt::format("there is no file {}", file.string()));
  auto db = TRY(sqlite::open_database(file, sqlite::Mode::kReadOnly));
  if (!db->empty())
    return fail(Code::kUnsupported, file.string() + " is not a SQLite database, or damaged");
  return db;
}

}  // namespace

bool Source::has(std::string_view table, std::string_view column) const {
  const auto known = columns_.find(table);
  return known != columns_.end() && known->second.contains(column);
}

Result<Source> Source::open(const std::string& place) {
  Source source;
  const std::string url = without_driver(place);
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) {
    source.db_ = TRY(postgres::open_database(url, postgres::Mode::kForeign));
    TRY(source.db_->script(std::string(source.db_->dialect().begin_read)));
  } else {
    const fs::path file = TRY(parse_file(place));
    source.db_ = TRY(open_file(file));
    std::error_code error;
    source.directory_ = fs::absolute(file, error).parent_path().string();
  }
  TRY(source.read_schema());
  return source;
}

Result<> Source::read_schema() {
  const auto read_columns = [&](std::string_view table) -> Result<> {
    for (std::string& column : TRY(db_->columns(table)))
      columns_[std::string(table)].insert(std::move(column));
    return {};
  };
  for (const Needed& needed : kNeeded) TRY(read_columns(needed.table));
  for (const char* table : kOthers) TRY(read_columns(table));
  if (columns_.empty() || !has("experiments") || !has("runs")) {
    const bool own = TRY(db_->has_table("meta")) && TRY(db_->has_table("batches"));
    return fail(Code::kUnsupported,
                name() + (own ? " is a store of Corral's: corral store load or migrate copies it"
                              : " is not a database of MLflow or radT: it has no tables "
                                "`experiments` and `runs`"));
  }
  std::string missing;
  for (const Needed& needed : kNeeded) {
    for (const std::string_view column : split(needed.columns, ' ')) {
      if (!has(needed.table, column)) missing += fmt::format(" {}.{}", needed.table, column);
    }
  }
  if (missing.empty()) return {};
  return fail(
      Code::kUnsupported,
      fmt::format("{} lacks{}: an old MLflow wrote it; `mlflow db upgrade URL` brings it up "
                  "to date",
                  name(), missing));
}

Result<Rows> Rows::open(Source& source, const std::string& select, const std::string& value) {
  sql::Connection& db = source.db();
  if (!db.dialect().shared) {
    if (select.find("?1") == std::string::npos) return Rows(db, TRY(db.query(select)), false);
    return Rows(db, TRY(db.query(select, value)), false);
  }
  std::string text = select;
  for (std::size_t at = 0; (at = text.find("?1", at)) != std::string::npos;)
    text.replace(at, 2, literal(value));
  TRY(db.script(fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", kCursor, text)));
  return Rows(db, TRY(db.query(fmt::format("FETCH {} FROM {}", kPage, kCursor))), true);
}

Rows::~Rows() {
  if (db_ == nullptr || !cursor_) return;
  statement_.reset();
  static_cast<void>(db_->script(fmt::format("CLOSE {}", kCursor)));
}

Result<bool> Rows::next() {
  if (!cursor_) return statement_.step();
  if (TRY(statement_.step())) {
    ++on_page_;
    return true;
  }
  if (on_page_ < kPage) return false;
  statement_.reset();
  on_page_ = 0;
  const bool more = TRY(statement_.step());
  on_page_ = more ? 1 : 0;
  return more;
}

}  // namespace corral::store::importing
