#include "compat/mlflow/import/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/otlp.h"
#include "core/text.h"
#include "store/ingest/ingest.h"
#include "sys/clock.h"

namespace corral::store::importing {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::size_t kRowsAtOnce = 256;
constexpr std::int64_t kNsPerMs = 1'000'000;

// One table. `columns` are the source's, in the order of the parameters: NAME:TYPE, with types t
// (text, NULL is empty), x (text or NULL), i (integer, NULL is 0), m (milliseconds that become
// nanoseconds), n (the same or NULL), r (real), e (experiment, by its new id). A column with `?`
// may be missing, and is NULL then. SQLite databases may hold rows whose `parent` is gone; those
// are ignored. `found`: the row in the store. `where`: only these rows of the source are copied.
// `into` is empty if other code copies the table (copy_spans()).
struct Copy {
  std::string_view what, table, columns, into, values, parent, found, where{};
};

constexpr std::array kCopies = {
    Copy{"experiments' tags", "experiment_tags", "experiment_id:e key:t value:t",
         "experiment_tags (experiment, key, value)", "?1, ?2, ?3", "experiments WHERE id = ?1",
         "experiment_tags WHERE experiment = ?1 AND key = ?2"},
    Copy{"registered models", "registered_models",
         "name:t creation_time:m last_updated_time:m description:t",
         "registered_models (name, created, updated, description, last_version)",
         "?1, ?2, ?3, ?4, 0", "experiments", "registered_models WHERE name = ?1"},
    Copy{"registered models' tags", "registered_model_tags", "name:t key:t value:t",
         "registered_model_tags (model, key, value)", "?1, ?2, ?3",
         "registered_models WHERE name = ?1",
         "registered_model_tags WHERE model = ?1 AND key = ?2"},
    Copy{"registered models' aliases", "registered_model_aliases", "name:t alias:t version:i",
         "registered_model_aliases (model, alias, version)", "?1, ?2, ?3",
         "registered_models WHERE name = ?1",
         "registered_model_aliases WHERE model = ?1 AND alias = ?2"},
    Copy{"model versions", "model_versions",
         "name:t version:i creation_time:m last_updated_time:m description:x user_id:t "
         "current_stage:t source:t storage_location:t? run_id:t run_link:t? status:t "
         "status_message:t",
         "model_versions (model, version, created, updated, description, user_id, stage, source, "
         "storage_location, source_run, run_link, model_id, status, status_message)",
         "?1, ?2, ?3, ?4, ?5, ?6, CASE ?7 WHEN '' THEN 'None' ELSE ?7 END, ?8, ?9, ?10, ?11, CASE "
         "WHEN ?8 LIKE 'models:/m-%' THEN substr(?8, 9) ELSE '' END, CASE ?12 WHEN "
         "'PENDING_REGISTRATION' THEN 1 WHEN 'FAILED_REGISTRATION' THEN 2 ELSE 3 END, ?13",
         "registered_models WHERE name = ?1", "model_versions WHERE model = ?1 AND version = ?2",
         "coalesce(current_stage, '') <> 'Deleted_Internal'"},
    Copy{"model versions' tags", "model_version_tags", "name:t version:i key:t value:t",
         "model_version_tags (model, version, key, value)", "?1, ?2, ?3, ?4",
         "model_versions WHERE model = ?1 AND version = ?2",
         "model_version_tags WHERE model = ?1 AND version = ?2 AND key = ?3"},
    Copy{
        "logged models", "logged_models",
        "model_id:t experiment_id:e name:t model_type:t source_run_id:t status:i status_message:t "
        "artifact_location:t creation_timestamp_ms:m last_updated_timestamp_ms:m lifecycle_stage:t",
        "logged_models (id, experiment, name, model_type, source_run, status, status_message, "
        "artifact_uri, created, updated, lifecycle)",
        "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, CASE ?11 WHEN 'deleted' THEN 1 ELSE 0 END",
        "experiments", "logged_models WHERE id = ?1"},
    Copy{"logged models' params", "logged_model_params", "model_id:t param_key:t param_value:t",
         "logged_model_facts (model, kind, key, value)", "?1, 0, ?2, ?3",
         "logged_models WHERE id = ?1",
         "logged_model_facts WHERE model = ?1 AND kind = 0 AND key = ?2"},
    Copy{"logged models' tags", "logged_model_tags", "model_id:t tag_key:t tag_value:t",
         "logged_model_facts (model, kind, key, value)", "?1, 1, ?2, ?3",
         "logged_models WHERE id = ?1",
         "logged_model_facts WHERE model = ?1 AND kind = 1 AND key = ?2"},
    Copy{"logged models' metrics", "logged_model_metrics",
         "model_id:t run_id:t metric_name:t metric_timestamp_ms:m metric_step:i dataset_name:t "
         "dataset_digest:t metric_value:r",
         "logged_model_metrics (model, run, key, time, step, dataset_name, dataset_digest, value, "
         "is_nan)",
         "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0", "logged_models WHERE id = ?1",
         "logged_model_metrics WHERE model = ?1 AND run = ?2 AND key = ?3 AND time = ?4 AND step = "
         "?5 "
         "AND dataset_digest = ?7"},
    Copy{"traces", "trace_info",
         "request_id:t experiment_id:e client_request_id:t? timestamp_ms:m execution_time_ms:n "
         "status:t request_preview:t? response_preview:t?",
         "traces (id, experiment, source_run, client_request_id, started, duration, state, "
         "request_preview, response_preview)",
         "?1, ?2, '', ?3, ?4, ?5, CASE ?6 WHEN 'OK' THEN 1 WHEN 'ERROR' THEN 2 WHEN 'IN_PROGRESS' "
         "THEN 3 ELSE 0 END, ?7, ?8",
         "experiments", "traces WHERE id = ?1"},
    Copy{"traces' metadata", "trace_request_metadata", "request_id:t key:t value:t",
         "trace_facts (trace, kind, key, value)", "?1, 0, ?2, ?3", "traces WHERE id = ?1",
         "trace_facts WHERE trace = ?1 AND kind = 0 AND key = ?2"},
    Copy{"traces' tags", "trace_tags", "request_id:t key:t value:t",
         "trace_facts (trace, kind, key, value)", "?1, 1, ?2, ?3", "traces WHERE id = ?1",
         "trace_facts WHERE trace = ?1 AND kind = 1 AND key = ?2"},
    // Since MLflow 3.17 these are columns.
    Copy{"traces' names", "trace_info", "request_id:t trace_name:t",
         "trace_facts (trace, kind, key, value)", "?1, 1, 'mlflow.traceName', ?2",
         "traces WHERE id = ?1",
         "trace_facts WHERE trace = ?1 AND kind = 1 AND key = 'mlflow.traceName'",
         "trace_name IS NOT NULL"},
    Copy{"traces' sessions", "trace_info", "request_id:t session_id:t",
         "trace_facts (trace, kind, key, value)", "?1, 0, 'mlflow.trace.session', ?2",
         "traces WHERE id = ?1",
         "trace_facts WHERE trace = ?1 AND kind = 0 AND key = 'mlflow.trace.session'",
         "session_id IS NOT NULL"},
    Copy{"traces' runs", "entity_associations", "source_id:t destination_id:t",
         "trace_facts (trace, kind, key, value)", "?1, 2, ?2, ''", "traces WHERE id = ?1",
         "trace_facts WHERE trace = ?1 AND kind = 2 AND key = ?2",
         "source_type = 'trace' AND destination_type = 'run'"},
    Copy{kSpans, "spans", "trace_id:t span_id:t", "", "", "traces WHERE id = ?1",
         "spans WHERE trace = ?1 AND id = ?2", "content <> ''"},
};

struct Column {
  std::string name;
  char type = 't';
  bool optional = false;
};

std::vector<Column> parse_columns(const Copy& copy) {
  std::vector<Column> columns;
  for (const std::string_view word : split(copy.columns, ' ')) {
    const std::size_t colon = word.find(':');
    columns.push_back({.name = std::string(word.substr(0, colon)),
                       .type = word[colon + 1],
                       .optional = word.ends_with('?')});
  }
  return columns;
}

// Since 3.10 a server may have several workspaces, in each of which a name stands for another
// thing.
std::string name_column(const Source& source, std::string_view table) {
  return source.has(table, "workspace")
             ? "CASE workspace WHEN 'default' THEN name ELSE workspace || '.' || name END"
             : "name";
}

std::string select_text(const Source& source, const Copy& copy, std::span<const Column> columns) {
  std::string list;
  for (const Column& column : columns) {
    if (!list.empty()) list += ", ";
    if (column.name == "name" && copy.table != "logged_models") {
      list += name_column(source, copy.table);
    } else {
      list += source.has(copy.table, column.name) ? '"' + column.name + '"' : "NULL";
    }
  }
  return fmt::format("SELECT {} FROM {}{}{}", list, copy.table, copy.where.empty() ? "" : " WHERE ",
                     copy.where);
}

// A table that lacks a needed column belongs to another release and is ignored.
bool can_copy(const Source& source, const Copy& copy, std::span<const Column> columns) {
  return std::ranges::all_of(columns, [&](const Column& column) {
    return column.optional || source.has(copy.table, column.name);
  });
}

struct Value {
  char type = 't';
  bool null = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
};

void set(Statement& statement, int index, const Value& value) {
  switch (value.type) {
    case 't':
      return statement.set(index, std::string_view(value.text));
    case 'x':
      return statement.set(index, value.null ? std::nullopt : std::optional(value.text));
    case 'r':
      return statement.set(index, value.real);
    case 'n':
      return statement.set(index, value.null ? std::nullopt : std::optional(value.integer));
    default:
      return statement.set(index, value.integer);
  }
}

// Nothing for a row of an experiment that is not there.
std::optional<std::vector<Value>> read_values(const Statement& row, std::span<const Column> columns,
                                              const Experiments& experiments) {
  std::vector<Value> values;
  for (const Column& column : columns) {
    const int index = static_cast<int>(values.size());
    Value value{.type = column.type, .null = row.is_null(index), .text = {}};
    if (column.type == 't' || column.type == 'x') {
      value.text = clean(row.text(index));
    } else if (column.type == 'r') {
      value.real = row.real(index);
    } else {
      value.integer = row.integer(index);
    }
    if (column.type == 'm' || column.type == 'n')
      value.integer = in_range_ms(value.integer) * kNsPerMs;
    if (column.type == 'e') {
      const auto known = experiments.find(value.integer);
      if (known == experiments.end()) return std::nullopt;
      value.integer = known->second.value;
    }
    values.push_back(std::move(value));
  }
  return values;
}

std::string insert_text(const Copy& copy) {
  return fmt::format(
      "INSERT INTO {} SELECT {} WHERE EXISTS (SELECT 1 FROM {}) ON CONFLICT DO NOTHING RETURNING 1",
      copy.into, copy.values, copy.parent);
}

Result<std::int64_t> insert_rows(Store& store, std::string_view insert,
                                 std::span<const std::vector<Value>> rows) {
  std::int64_t added = 0;
  const Change write = [&](Connection& db) -> Result<> {
    added = 0;
    Statement statement = TRY(db.query(insert));
    for (const auto& values : rows) {
      for (std::size_t i = 0; i < values.size(); ++i)
        set(statement, static_cast<int>(i) + 1, values[i]);
      while (TRY(statement.step())) ++added;
      statement.reset();
    }
    return {};
  };
  TRY(store.change(write));
  return added;
}

Result<Copied> copy_table(Source& source, Store& store, const Copy& copy,
                          const Experiments& experiments) {
  Copied copied{.what = std::string(copy.what)};
  const std::vector<Column> columns = parse_columns(copy);
  Rows rows = TRY(Rows::open(source, select_text(source, copy, columns), {}));
  const std::string insert = insert_text(copy);
  std::vector<std::vector<Value>> page;
  const auto flush = [&]() -> Result<> {
    copied.added += TRY(insert_rows(store, insert, page));
    page.clear();
    return {};
  };
  while (TRY(rows.next())) {
    if (auto values = read_values(rows.row(), columns, experiments))
      page.push_back(*std::move(values));
    if (page.size() == kRowsAtOnce) TRY(flush());
  }
  TRY(flush());
  return copied;
}

// Those of a Copy's parameters that a condition names, counted from 1 in their order.
struct Check {
  std::string sql;
  std::vector<std::size_t> columns;
};
Check make_check(const Copy& copy) {
  const std::string text = fmt::format(
      "SELECT CASE WHEN EXISTS (SELECT 1 FROM {}) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 "
      "FROM {}) THEN 1 ELSE 0 END",
      copy.parent, copy.found);
  Check check;
  for (std::size_t at = 0; at < text.size(); ++at) {
    check.sql += text[at];
    if (text[at] != '?') continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    const auto number = parse_int(std::string_view(text).substr(at + 1, end - at - 1));
    check.columns.push_back(static_cast<std::size_t>(number.value_or(1)) - 1);
    check.sql += std::to_string(check.columns.size());
    at = end - 1;
  }
  return check;
}

std::string row_name(const std::vector<Value>& values, const Check& check) {
  std::string name;
  for (const std::size_t column : std::set(check.columns.begin(), check.columns.end())) {
    const Value& value = values[column];
    name += (name.empty() ? "" : " / ") +
            (value.text.empty() ? std::to_string(value.integer) : value.text);
  }
  return name;
}

Result<> count_rows(const Reader& store, const Check& check,
                    std::span<const std::vector<Value>> rows, Count& count) {
  std::vector<bool> belongs(rows.size()), there(rows.size());
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    Statement statement = TRY(reading.db.query(check.sql));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      int index = 0;
      for (const std::size_t column : check.columns) set(statement, ++index, rows[i][column]);
      if (!TRY(statement.step())) return fail(Code::kInternal, "a count without a row");
      belongs[i] = statement.integer(0) == 1;
      there[i] = statement.integer(1) == 1;
      statement.reset();
    }
    return {};
  };
  TRY(store.inspect(read));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!belongs[i]) {
      ++count.left_out;
      continue;
    }
    count.add(1, there[i] ? 1 : 0, [&] { return row_name(rows[i], check); });
  }
  return {};
}

Result<Count> count_table(Source& source, const Reader& store, const Copy& copy,
                          const Experiments& experiments) {
  Count count{.what = std::string(copy.what)};
  const std::vector<Column> columns = parse_columns(copy);
  const Check check = make_check(copy);
  Rows rows = TRY(Rows::open(source, select_text(source, copy, columns), {}));
  std::vector<std::vector<Value>> page;
  while (TRY(rows.next())) {
    if (auto values = read_values(rows.row(), columns, experiments)) {
      page.push_back(*std::move(values));
    } else {
      ++count.left_out;
    }
    if (page.size() < kRowsAtOnce) continue;
    TRY(count_rows(store, check, page, count));
    page.clear();
  }
  TRY(count_rows(store, check, page, count));
  return count;
}

// Numbers of versions that were deleted are not given again, either.
Result<> count_versions(Source& source, Store& store) {
  if (!source.has("model_versions")) return {};
  std::vector<std::pair<std::string, std::int64_t>> last;
  {
    Statement row = TRY(
        source.db().query(fmt::format("SELECT {0}, max(version) FROM model_versions GROUP BY {0}",
                                      name_column(source, "model_versions"))));
    while (TRY(row.step())) last.emplace_back(clean(row.text(0)), row.integer(1));
  }
  return store.change([&](Connection& db) -> Result<> {
    for (const auto& [name, version] : last) {
      TRY(
          db.exec("UPDATE registered_models SET last_version = ?2 WHERE name = ?1 AND last_version "
                  "< ?2",
                  name, version));
    }
    return {};
  });
}

struct Experiment {
  std::int64_t id = 0;
  std::string name, location;
  bool deleted = false;
  std::int64_t created = 0, updated = 0;  // ns
};

Result<std::vector<Experiment>> read_experiments(Source& source) {
  const auto time = [&](const char* column) {
    return source.has("experiments", column) ? column : "NULL";
  };
  Statement row = TRY(source.db().query(fmt::format(
      "SELECT experiment_id, {}, artifact_location, lifecycle_stage, {}, {} FROM "
      "experiments ORDER BY experiment_id",
      name_column(source, "experiments"), time("creation_time"), time("last_update_time"))));
  std::vector<Experiment> all;
  while (TRY(row.step())) {
    Experiment one{.id = row.integer(0),
                   .name = clean(row.text(1)),
                   .location = clean(row.text(2)),
                   .deleted = row.text(3) == "deleted"};
    one.created = in_range_ms(row.integer(4)) * kNsPerMs;
    if (one.created == 0) one.created = ns_of(sys::utc_now());
    one.updated = std::max(in_range_ms(row.integer(5)) * kNsPerMs, one.created);
    all.push_back(std::move(one));
  }
  return all;
}

// The experiment of this name; else a new one, with the source's id if that is free.
Result<std::optional<ExperimentId>> keep_experiment(Connection& db, const Experiment& one,
                                                    const std::string& location) {
  auto id = TRY(db.number("SELECT id FROM experiments WHERE name = ?1", one.name));
  if (!id) {
    id = TRY(db.number(
        "INSERT INTO experiments (id, name, created, updated, artifact_location, lifecycle, kept) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1) ON CONFLICT DO NOTHING RETURNING id",
        one.id, one.name, one.created, one.updated, location, one.deleted ? 1 : 0));
  }
  return id ? std::optional(ExperimentId{*id}) : std::nullopt;
}

Result<ExperimentId> number_experiment(Connection& db, const Experiment& one,
                                       const std::string& location) {
  const auto id = TRY(db.number(
      "INSERT INTO experiments (name, created, updated, artifact_location, lifecycle, kept) VALUES "
      "(?1, ?2, ?3, ?4, ?5, 1) ON CONFLICT DO NOTHING RETURNING id",
      one.name, one.created, one.updated, location, one.deleted ? 1 : 0));
  if (!id) return sql::lost_race();
  return ExperimentId{*id};
}

// Ids that came from the source are not given again: PostgreSQL's counter does not see them.
Result<> move_counter_on(Connection& db) {
  if (!db.dialect().shared) return {};
  const auto format = [](std::string_view text, std::int64_t key) {
    return fmt::format(fmt::runtime(text), "experiments", "id", key);
  };
  const auto given = TRY(db.number(format(db.dialect().last_key, 0)));
  const auto greatest = TRY(db.number("SELECT max(id) FROM experiments"));
  const std::int64_t key = std::max(given.value_or(0), greatest.value_or(0));
  return db.exec(format(db.dialect().skip_keys, std::max<std::int64_t>(key, 1)));
}

// ---- spans

constexpr std::size_t kSpansAtOnce = 512;
constexpr std::size_t kBytesAtOnce = 8u << 20;
constexpr std::size_t kMostNamed = 5;

struct SpanRow {
  std::string trace, id, content;
};

class SpanPage {
 public:
  SpanPage(Store& store, const Reader& reader, CopiedSpans& copied)
      : store_(store), reader_(reader), copied_(copied) {}

  void add(SpanRow row) {
    bytes_ += row.content.size();
    rows_.push_back(std::move(row));
  }
  [[nodiscard]] bool full() const { return rows_.size() >= kSpansAtOnce || bytes_ >= kBytesAtOnce; }

  Result<> flush() {
    TRY(keep_new());
    read();
    TRY(show());
    const Change put = [&](Connection& db) -> Result<> {
      for (const auto& [trace, spans] : spans_) {
        for (const auto& [id, span] : spans)
          TRY(tracking::put_span(db, trace, id, mlflow::encode_span(span)));
      }
      return {};
    };
    TRY(store_.change(put));
    for (const auto& [trace, spans] : spans_)
      copied_.added += static_cast<std::int64_t>(spans.size());
    rows_.clear();
    spans_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  // Stores spans that the store lacks, if their traces exist.
  Result<> keep_new() {
    std::vector<bool> wanted;
    const Inspect read = [&](sql::Reading& reading) -> Result<> {
      wanted.clear();
      for (const SpanRow& row : rows_) {
        wanted.push_back(TRY(reading.db.number(
                                 "SELECT 1 FROM traces WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM "
                                 "spans WHERE trace = ?1 AND id = ?2)",
                                 row.trace, row.id))
                             .has_value());
      }
      return {};
    };
    TRY(reader_.inspect(read));
    std::size_t at = 0;
    std::erase_if(rows_, [&](const SpanRow&) { return !wanted[at++]; });
    return {};
  }

  void read() {
    for (const SpanRow& row : rows_) {
      auto span = mlflow::parse_span_json(clean(row.content));
      if (span) {
        spans_[row.trace].emplace_back(row.id, *std::move(span));
      } else if (copied_.unread.size() < kMostNamed) {
        copied_.unread.push_back(
            fmt::format("span {} of trace {}: {}", row.id, row.trace, span.error().message));
      }
    }
  }

  Result<> show() {
    std::vector<std::vector<const mlflow::Span*>> lists;
    std::vector<tracking::SpansOfTrace> given;
    lists.reserve(spans_.size());
    for (const auto& [trace, spans] : spans_) {
      auto& list = lists.emplace_back();
      for (const auto& [id, span] : spans) list.push_back(&span);
      given.push_back({.trace = trace, .spans = list});
    }
    return tracking::show_spans(store_, reader_, given, [](const AppendResult&) {});
  }

  Store& store_;
  const Reader& reader_;
  CopiedSpans& copied_;
  std::vector<SpanRow> rows_;
  std::map<std::string, std::vector<std::pair<std::string, mlflow::Span>>> spans_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<Experiments> copy_experiments(Source& source, Store& store, bool default_locations) {
  const std::vector<Experiment> all = TRY(read_experiments(source));
  Experiments experiments;
  const Change write = [&](Connection& db) -> Result<> {
    experiments.clear();
    for (const Experiment& one : all) {
      if (const auto id = TRY(keep_experiment(db, one, default_locations ? "" : one.location)))
        experiments[one.id] = *id;
    }
    TRY(move_counter_on(db));
    for (const Experiment& one : all) {
      if (!experiments.contains(one.id)) {
        experiments[one.id] =
            TRY(number_experiment(db, one, default_locations ? "" : one.location));
      }
    }
    return {};
  };
  TRY(store.change(write));
  return experiments;
}

Result<std::vector<Copied>> copy_tables(Source& source, Store& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch) {
  std::vector<Copied> all;
  for (const Copy& copy : kCopies) {
    if (copy.into.empty() || !can_copy(source, copy, parse_columns(copy))) continue;
    TRY(watch.at(copy.what, 0, 0));
    all.push_back(TRY(copy_table(source, store, copy, experiments)));
  }
  TRY(count_versions(source, store));
  // Sets source_run from each trace's metadata.
  TRY(store.change([](Connection& db) {
    return db.exec(
        "UPDATE traces SET source_run = (SELECT value FROM trace_facts f WHERE f.trace = traces.id "
        "AND f.kind = 0 AND f.key = 'mlflow.sourceRun') WHERE source_run = '' AND EXISTS (SELECT 1 "
        "FROM trace_facts f WHERE f.trace = traces.id AND f.kind = 0 AND f.key = "
        "'mlflow.sourceRun' AND length(value) <= 250)");
  }));
  return all;
}

Result<std::vector<Count>> count_tables(Source& source, const Reader& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch) {
  std::vector<Count> all;
  for (const Copy& copy : kCopies) {
    if (!can_copy(source, copy, parse_columns(copy))) continue;
    TRY(watch.at("counting", 0, 0));
    Count count = TRY(count_table(source, store, copy, experiments));
    if (count.source + count.left_out > 0) all.push_back(std::move(count));
  }
  return all;
}

Result<Count> count_experiments(const Reader& store, const Experiments& experiments) {
  Count count{.what = "experiments"};
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    count = {.what = "experiments"};
    for (const auto& [from, to] : experiments) {
      const auto there = TRY(reading.db.number("SELECT 1 FROM experiments WHERE id = ?1", to));
      count.add(1, there ? 1 : 0, [&, id = from] { return std::to_string(id); });
    }
    return {};
  };
  TRY(store.inspect(read));
  return count;
}

Result<CopiedSpans> copy_spans(Source& source, Store& store, const Reader& reader,
                               const maintain::Watch& watch) {
  CopiedSpans copied;
  if (!source.has("spans", "content")) return copied;
  const std::int64_t total =
      TRY(source.db().number("SELECT count(*) FROM spans WHERE content <> ''")).value_or(0);
  copied.archived =
      TRY(source.db().number("SELECT count(*) FROM spans WHERE content = ''")).value_or(0);
  Rows rows = TRY(Rows::open(
      source, "SELECT trace_id, span_id, content FROM spans WHERE content <> '' ORDER BY trace_id",
      {}));
  SpanPage page(store, reader, copied);
  std::int64_t done = 0;
  while (TRY(rows.next())) {
    page.add({.trace = clean(rows.row().text(0)),
              .id = clean(rows.row().text(1)),
              .content = rows.row().text(2)});
    ++done;
    if (!page.full()) continue;
    TRY(page.flush());
    TRY(watch.at(kSpans, done, total));
  }
  TRY(page.flush());
  return copied;
}

}  // namespace corral::store::importing
