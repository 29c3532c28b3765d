// ArtifactRemoval: removes the artifacts of what was removed from the store (removed_artifacts), on
// a thread of its own: when it starts, when it is woken and every minute, because retention,
// `corral store tidy` and other servers remove runs, too.
//
// Files go after the rows that named them, a place at a time, and the note of a place after its
// files: whatever ends the server in between, the next one goes on. Places outside of this server's
// artifact store keep their files. What cannot be removed is told once, and tried again.
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
#include "store/search/removed_artifacts.h"
#include "store/store.h"

namespace corral::server {

class ArtifactRemoval {
 public:
  // Both outlive it. `complain` may be empty; it is called on the thread.
  using Complain = std::function<void(std::string_view)>;
  ArtifactRemoval(store::Store& store, const store::Reader& reader,
                  store::artifacts::ArtifactStore& artifacts, Complain complain);
  // Finishes the place that it is at.
  ~ArtifactRemoval() = default;
  ArtifactRemoval(const ArtifactRemoval&) = delete;
  ArtifactRemoval& operator=(const ArtifactRemoval&) = delete;

  // Something was removed. Any thread; does not wait.
  void wake();

 private:
  void loop(const std::stop_token& stop);
  Result<> remove_all(const std::stop_token& stop);
  // True if its note may go.
  bool remove_one(const store::tracking::RemovedArtifacts& place);

  store::Store& store_;
  const store::Reader reader_;
  store::artifacts::ArtifactStore& artifacts_;
  const Complain complain_;
  std::set<std::int64_t> told_;  // of which it was said that they stay; the thread's
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool woken_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace corral::server
