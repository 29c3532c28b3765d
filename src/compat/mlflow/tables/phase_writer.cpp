#include "compat/mlflow/tables/phase_writer.h"

#include <algorithm>
#include <string>

#include "compat/mlflow/tables/client_session.h"
#include "compat/mlflow/wire/times.h"
#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::tracking {
namespace {

// An attempt fails if another process wrote meanwhile.
constexpr int kAttempts = 100;

SessionId session_of(RunId run, PhaseOrigin origin) {
  const Sha256 hash = sha256(
      (origin == PhaseOrigin::kTraces ? "phases of traces " : "phases of radt ") + run.hex());
  SessionId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

// One number of the session further than `durable`, two when it is new.
std::vector<codec::Bytes> encoded(RunId run, SessionId session, std::uint64_t durable,
                                  std::span<const codec::PhaseRecord> phases) {
  std::vector<codec::Bytes> bytes;
  codec::FrameHeader header{.session = session, .first = durable + 1, .last = durable + 1};
  if (durable == 0) {
    bytes.push_back(codec::encode(header, client_session(run)));
    header.first = header.last = 2;
  }
  bytes.push_back(codec::encode(header, codec::PhasesBody{{phases.begin(), phases.end()}}));
  return bytes;
}

}  // namespace

Result<AppendResult> write_phases(Store& store, RunId run, PhaseOrigin origin,
                                  std::span<const codec::PhaseRecord> phases) {
  const SessionId session = session_of(run, origin);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto known = TRY(store.session(session));
    const std::uint64_t durable = known ? known->durable_seq : 0;
    const auto bytes = encoded(run, session, durable, phases);
    std::vector<codec::Frame> frames;
    frames.reserve(bytes.size());
    for (const codec::Bytes& one : bytes) frames.push_back(TRY(codec::decode_frame(one)));
    // A number that somebody else took meanwhile would be acknowledged and ignored.
    bool late = false;
    const auto before = [&](sql::Connection& db) -> Result<> {
      late = false;
      if (!TRY(db.number("SELECT 1 FROM runs WHERE id = ?1", run)))
        return fail(Code::kNotFound, "there is no run " + run.hex());
      const auto now = TRY(db.number(
          "SELECT durable_seq FROM sessions WHERE id = ?1" + std::string(db.dialect().lock_row),
          session));
      late = static_cast<std::uint64_t>(now.value_or(0)) != durable;
      return late ? Result<>(fail(Code::kUnprocessable, "another wrote")) : Result<>();
    };
    auto stored = store.append(frames, before);
    if (late) continue;
    if (!stored || stored->refusals.empty()) return stored;
    if (stored->refusals.front().error.code != Code::kConflict)
      return tl::unexpected(stored->refusals.front().error);
  }
  return fail(Code::kUnavailable, "too many write phases of run " + run.hex() + " at once");
}

}  // namespace corral::store::tracking
