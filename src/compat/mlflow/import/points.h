// Points of an MLflow database's runs, as frames.
//
// Each run's points are one session with an id that follows from the run's. The point that the
// source tells as number n of the run has sequence number n + 2 of that session (1 describes it):
// what is stored already is known from the session alone, wherever an import ended, and a second
// one adds nothing but what came to the source since. Frames are encoded on the caller's thread and
// stored on another.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "compat/mlflow/import/runs.h"
#include "compat/mlflow/import/source.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

SessionId import_session_of(RunId run);
// How the store calls the source's metric: the same, unless it has too many bytes.
std::string metric_name(const std::string& text);

// Frames on their way into the store. finish() before it goes.
class Sink {
 public:
  Sink(Store& store, const Reader& reader) : store_(store), reader_(reader) {}
  [[nodiscard]] const Reader& reader() const { return reader_; }
  Result<> add(codec::Bytes frame);
  // All that was added is stored.
  Result<> finish();

 private:
  Result<> send();

  Store& store_;
  const Reader reader_;
  std::vector<codec::Bytes> frames_;
  std::size_t bytes_ = 0;
  std::future<Result<>> sending_;
};

struct PointCounts {
  std::int64_t read = 0;   // by this import
  std::int64_t moved = 0;  // times beyond what the store keeps, set to the nearest
};
// Those that the store lacks, of a run that is in it. `done` grows with every point.
Result<> copy_points(Source& source, Store& store, Sink& sink, const SourceRun& run,
                     PointCounts& counts, const std::function<Result<>(std::int64_t)>& done);

}  // namespace corral::store::importing
