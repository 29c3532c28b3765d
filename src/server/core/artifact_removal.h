// ArtifactRemoval: removes the artifacts of removed runs (removed_artifacts) on a thread of its
// own: at the start, when it is woken, and every minute, because retention, `corral store tidy` and
// other servers also remove runs.
//
// Files are removed after the rows that named them, one place at a time, and the note of a place is
// removed after its files. If the server ends in between, the next one continues. Places outside of
// this server's artifact store keep their files. A failed removal is reported once and retried.
#pragma once

#include <condition_variable>
#include <functional>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>

#include "core/mutex.h"
#include "core/result.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/tables/artifacts.h"

namespace corral::server {

class ArtifactRemoval {
 public:
  // `store` and `artifacts` must outlive this. `complain` may be empty; it runs on the thread.
  using Complain = std::function<void(std::string_view)>;
  ArtifactRemoval(store::Store& store, const store::Reader& reader,
                  store::artifacts::ArtifactStore& artifacts, Complain complain);
  // Finishes the current place.
  ~ArtifactRemoval() = default;
  ArtifactRemoval(const ArtifactRemoval&) = delete;
  ArtifactRemoval& operator=(const ArtifactRemoval&) = delete;

  // Call after a removal. Any thread; does not wait.
  void wake();

 private:
  void loop(const std::stop_token& stop);
  Result<> remove_all(const std::stop_token& stop);
  // Returns true when the note of the place can be removed.
  bool remove_one(const store::page::RemovedArtifacts& place);

  // Constant after construction.
  store::Store& store_;
  const store::Reader reader_;
  store::artifacts::ArtifactStore& artifacts_;
  const Complain complain_;

  // Only the removal's thread.
  std::set<std::int64_t> reported_;  // places whose failed removal was reported

  Mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  bool woken_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::server
