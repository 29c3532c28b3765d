// Points of an MLflow database's runs, as frames.
//
// Each run's points form one session whose id is derived from the run's id. Point n of the run has
// sequence number n + 2 in that session (1 describes the session). So the session alone tells how
// far an import came, and a second import adds only new points. Frames are encoded on the caller's
// thread and stored on another.
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

// Returns the store's name for the source's metric: equal unless it is too long.
std::string metric_name(const std::string& text);

// Stores frames in batches. Call finish() before it is destroyed.
class Sink {
 public:
  Sink(Store& store, const Reader& reader) : store_(store), reader_(reader) {}
  [[nodiscard]] const Reader& reader() const { return reader_; }
  Result<> add(codec::Bytes frame);
  // Waits until all added frames are stored.
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
  std::int64_t moved = 0;  // times outside of the store's range, set to the nearest one
};
// Copies the points that the store lacks. The run must exist. `done` is called with the progress.
Result<> copy_points(Source& source, Store& store, Sink& sink, const SourceRun& run,
                     PointCounts& counts, const std::function<Result<>(std::int64_t)>& done);

}  // namespace corral::store::importing
