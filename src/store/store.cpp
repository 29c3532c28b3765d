#include "store/store.h"

#include <utility>

#include "store/engine/schema.h"
#include "store/machinery.h"
#include "store/read/reads.h"

namespace corral::store {

using sql::Connection;

Store::Store(StoreParts parts) : machinery_(std::make_unique<Machinery>(std::move(parts))) {}
Store::~Store() = default;

Result<> Store::intact() const { return machinery_->intact ? machinery_->intact() : Result<>(); }

Result<AppendResult> Store::append(std::span<const codec::Frame> frames) {
  machinery_->sealer.pace();
  return machinery_->writer.append(frames);
}

Result<AppendResult> Store::append(std::span<const codec::Frame> frames, const Change& before) {
  machinery_->sealer.pace();
  return machinery_->writer.append(frames, before);
}

Result<> Store::change(const Change& change) {
  TRY(machinery_->writer.append({}, change));
  return {};
}

Result<std::optional<Ack>> Store::session(SessionId id) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_session(db, id); });
}

Result<StoreInfo> Store::info() {
  StoreInfo info;
  info.location = machinery_->location;
  info.schema_version = TRY(machinery_->readers.with(sql::schema_version));
  info.bytes = TRY(machinery_->readers.with([](Connection& db) { return db.bytes(); }));
  info.problem = machinery_->sealer.problem();
  return info;
}

StoreActivity Store::activity() const {
  StoreActivity activity = machinery_->sealer.waiting();
  activity.points = machinery_->points.load(std::memory_order_relaxed);
  return activity;
}

Result<Removal> Store::remove_runs(std::span<const RunId> runs, const RemoveOptions& options) {
  return machinery_->remover.remove_runs(runs, options);
}

Result<Removal> Store::remove_experiment(ExperimentId id, const RemoveOptions& options) {
  return machinery_->remover.remove_experiment(id, options);
}

Result<Removal> Store::prune(const Retention& retention, UtcTime now, bool dry_run) {
  return machinery_->remover.prune(retention, now, dry_run);
}

Result<> Store::seal(bool settle) { return machinery_->sealer.seal_all(settle); }

}  // namespace corral::store
