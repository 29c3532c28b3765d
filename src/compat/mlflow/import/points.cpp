#include "compat/mlflow/import/points.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "compat/mlflow/wire/times.h"
#include "core/limits.h"
#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::importing {
namespace {

SessionId import_session(RunId run) {
  const Sha256 hash = sha256("corral import " + run.hex());
  SessionId id;
  std::memcpy(id.bytes.data(), hash.data(), id.bytes.size());
  return id;
}

constexpr std::size_t kRowsPerFrame = 16'384;
constexpr std::size_t kSchemaBytes = 1u << 20;  // new names in one frame
constexpr std::size_t kSendBytes = 2u << 20;
constexpr std::size_t kSendFrames = 16;

// In the order of logging, so that steps ascend where they did; PostgreSQL keeps no such order.
std::string select_points(bool ordered_rows, std::uint64_t skip) {
  return std::string(
             "SELECT key, \"timestamp\", step, value, is_nan FROM metrics WHERE run_uuid "
             "= ?1 ORDER BY ") +
         (ordered_rows ? "rowid LIMIT -1" : "\"timestamp\", step, key, value, is_nan") +
         " OFFSET " + std::to_string(skip);
}

// MLflow's databases hold no NaN. They hold no infinities either, but the greatest number that
// stands for one may as well have been logged: it stays.
double metric_value(double value, bool nan) {
  return nan ? std::numeric_limits<double>::quiet_NaN() : value;
}

using Locals = std::unordered_map<std::string, std::uint32_t>;

Result<Locals> known_series(const Reader& reader, SessionId session) {
  Locals locals;
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    locals.clear();
    sql::Statement row = TRY(reading.db.query(
        "SELECT m.local, x.name FROM sessions s JOIN session_series m ON m.session "
        "= s.key JOIN series x ON x.id = m.series WHERE s.id = ?1",
        session));
    while (TRY(row.step())) locals[row.text(1)] = static_cast<std::uint32_t>(row.integer(0));
    return {};
  };
  TRY(reader.inspect(read));
  return locals;
}

// One run's points on their way into frames.
class Frames {
 public:
  Frames(const SourceRun& run, Sink& sink, std::uint64_t stored, Locals locals)
      : run_(run), sink_(sink), last_(stored), first_(stored + 1), locals_(std::move(locals)) {}

  Result<> begin() {
    const codec::SessionBody body{
        .run = run_.id,
        .workload = own_workload_of(run_.id),
        .experiment = "Default",  // the run is there, and knows its own
        .workload_name = {},
        .run_name = {},
        .host = {},
        .machine = {},
        .role = "import",
        .pid = 0,
        .rank = std::nullopt,
        .boot_id = {},
        .anchor = mlflow::kClientAnchor,
        .started = boot_time(ns_of(run_.start) - mlflow::kClientAnchor.utc_minus_boot.count())};
    ++last_;
    return sink_.add(codec::encode(next_header(), body));
  }

  Result<> add(const sql::Statement& row, PointCounts& counts) {
    const sql::Blob name = row.blob(0);
    Column& column = *TRY(column_for({reinterpret_cast<const char*>(name.data()), name.size()}));
    const std::int64_t ms = row.integer(1);
    if (in_range_ms(ms) != ms) ++counts.moved;
    column.group.times.push_back(mlflow::nearest_client_time(ms));
    column.group.steps.push_back(row.integer(2));
    column.values.push_back(metric_value(row.real(3), row.integer(4) != 0));
    ++last_;
    ++counts.read;
    return ++rows_ == kRowsPerFrame || schema_bytes_ > kSchemaBytes ? flush() : Result<>();
  }

  Result<> flush() {
    if (last_ < first_) return {};
    codec::SamplesBody samples;
    for (const std::size_t index : used_) add_column(samples, columns_[index]);
    codec::Bundle bundle;
    bundle.add(schema_);
    bundle.add(samples);
    codec::Bytes frame = bundle.empty() ? codec::encode(next_header(), codec::GapBody{})
                                        : bundle.finish(next_header());
    schema_.series.clear();
    schema_bytes_ = rows_ = 0;
    used_.clear();
    return sink_.add(std::move(frame));
  }

 private:
  struct Column {
    std::uint32_t local = 0;
    codec::SampleGroup group;  // times and steps
    std::vector<double> values;
  };

  codec::FrameHeader next_header() {
    const codec::FrameHeader header{.kind = codec::FrameKind::kSession,
                                    .session = import_session(run_.id),
                                    .first = first_,
                                    .last = last_};
    first_ = last_ + 1;
    return header;
  }

  // Metrics that were logged together share times and steps.
  static void add_column(codec::SamplesBody& samples, Column& column) {
    codec::Column values{.series = column.local, .present = {}, .values = std::move(column.values)};
    column.values.clear();
    auto* last = samples.groups.empty() ? nullptr : &samples.groups.back();
    if (last == nullptr || last->times != column.group.times || last->steps != column.group.steps) {
      samples.groups.push_back(std::move(column.group));
      last = &samples.groups.back();
    }
    column.group = {};
    last->columns.push_back(std::move(values));
  }

  Result<Column*> column_for(std::string_view name) {
    if (last_column_ == kNone || name != last_name_) {
      last_column_ = kNone;
      last_name_ = name;
      last_column_ = TRY(find_column());
    }
    Column& column = columns_[last_column_];
    if (column.values.empty()) used_.push_back(last_column_);
    return &column;
  }

  Result<std::size_t> find_column() {
    if (const auto known = by_name_.find(last_name_); known != by_name_.end()) return known->second;
    const std::string name = metric_name(last_name_);
    const auto next = static_cast<std::uint32_t>(locals_.size() + 1);
    const auto [local, fresh] = locals_.emplace(name, next);
    if (fresh) declare(name, next);
    if (local->second > limits::kSeriesPerSession) {
      return fail(Code::kTooLarge, fmt::format("run {} has more than {} metrics", run_.text_id,
                                               limits::kSeriesPerSession));
    }
    const auto [column, own] = by_local_.emplace(local->second, columns_.size());
    if (own) columns_.push_back({.local = local->second, .group = {}, .values = {}});
    return by_name_[last_name_] = column->second;
  }

  void declare(const std::string& name, std::uint32_t local) {
    schema_bytes_ += name.size() + 16;
    schema_.series.push_back({.id = local, .name = name, .source = {}, .unit = {}});
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  const SourceRun& run_;
  Sink& sink_;
  std::uint64_t last_, first_;  // sequence numbers of the next frame
  Locals locals_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, std::size_t> by_name_;  // as the source has it
  std::unordered_map<std::uint32_t, std::size_t> by_local_;
  std::vector<std::size_t> used_;  // columns with points, in the order of their first
  std::string last_name_;
  std::size_t last_column_ = kNone;
  codec::SchemaBody schema_;
  std::size_t schema_bytes_ = 0, rows_ = 0;
};

Result<> store_frames(Store& store, const std::vector<codec::Bytes>& bytes) {
  std::vector<codec::Frame> frames;
  frames.reserve(bytes.size());
  for (const codec::Bytes& one : bytes) frames.push_back(TRY(codec::decode_frame(one)));
  const AppendResult result = TRY(store.append(frames));
  if (result.refusals.empty()) return {};
  return tl::unexpected(result.refusals.front().error.with_context("storing points"));
}

}  // namespace

// One that is cut stays one of its own by a mark at its end.
std::string metric_name(const std::string& text) {
  constexpr std::size_t kKept = 225;
  std::string name = clean(text);
  if (name.size() <= limits::kNameBytes) return name.empty() ? "(empty)" : name;
  return name.substr(0, utf8_prefix(std::string_view(name).substr(0, kKept))) + "..." +
         hex(sha256(name), 8);
}

Result<> Sink::add(codec::Bytes frame) {
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
  return bytes_ < kSendBytes && frames_.size() < kSendFrames ? Result<>() : send();
}

Result<> Sink::send() {
  if (sending_.valid()) TRY(sending_.get());
  bytes_ = 0;
  if (frames_.empty()) return {};
  sending_ = std::async(std::launch::async, [this, frames = std::exchange(frames_, {})] {
    return store_frames(store_, frames);
  });
  return {};
}

Result<> Sink::finish() {
  TRY(send());
  return sending_.valid() ? sending_.get() : Result<>();
}

Result<> copy_points(Source& source, Store& store, Sink& sink, const SourceRun& run,
                     PointCounts& counts, const std::function<Result<>(std::int64_t)>& done) {
  if (run.points == 0) return {};
  const SessionId session = import_session(run.id);
  const auto ack = TRY(store.session(session));
  const std::uint64_t stored = ack ? ack->durable_seq : 0;
  const std::uint64_t skip = stored == 0 ? 0 : stored - 1;
  TRY(done(static_cast<std::int64_t>(skip)));
  if (skip >= static_cast<std::uint64_t>(run.points)) return {};
  Frames frames(run, sink, stored,
                skip == 0 ? Locals() : TRY(known_series(sink.reader(), session)));
  if (stored == 0) TRY(frames.begin());
  Rows rows =
      TRY(Rows::open(source, select_points(!source.db().dialect().shared, skip), run.text_id));
  constexpr std::int64_t kReportEvery = 4096;
  std::int64_t unreported = 0;
  while (TRY(rows.next())) {
    TRY(frames.add(rows.row(), counts));
    if (++unreported == kReportEvery) TRY(done(std::exchange(unreported, 0)));
  }
  TRY(done(unreported));
  return frames.flush();
}

}  // namespace corral::store::importing
