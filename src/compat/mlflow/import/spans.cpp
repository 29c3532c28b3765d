#include "compat/mlflow/import/spans.h"

#include <fmt/core.h>

#include <map>

#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/otlp.h"

namespace corral::store::importing {
namespace {

using sql::Connection;

constexpr std::size_t kSpansAtOnce = 512;
constexpr std::size_t kBytesAtOnce = 8u << 20;
constexpr std::size_t kMostNamed = 5;

struct Row {
  std::string trace, id, content;
};

class Page {
 public:
  Page(Store& store, const Reader& reader, CopiedSpans& copied)
      : store_(store), reader_(reader), copied_(copied) {}

  void add(Row row) {
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
      for (const Row& row : rows_) {
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
    std::erase_if(rows_, [&](const Row&) { return !wanted[at++]; });
    return {};
  }

  void read() {
    for (const Row& row : rows_) {
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
  std::vector<Row> rows_;
  std::map<std::string, std::vector<std::pair<std::string, mlflow::Span>>> spans_;
  std::size_t bytes_ = 0;
};

}  // namespace

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
  Page page(store, reader, copied);
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
