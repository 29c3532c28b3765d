#include "server/core/artifact_removal.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "core/text.h"
#include "server/core/artifacts.h"
#include "server/core/context.h"
#include "sys/thread_guard.h"

namespace corral::server {
namespace {

constexpr std::chrono::minutes kEvery{1};
constexpr std::int64_t kAtOnce = 64;

}  // namespace

ArtifactRemoval::ArtifactRemoval(store::Store& store, const store::Reader& reader,
                                 store::artifacts::ArtifactStore& artifacts, Complain complain)
    : store_(store),
      reader_(reader),
      artifacts_(artifacts),
      complain_(std::move(complain)),
      thread_(sys::require_thread("the removal of artifacts", [this](const std::stop_token& stop) {
        sys::guard_loop("the removal of artifacts", stop, [&] { loop(stop); });
      })) {}

void ArtifactRemoval::wake() {
  const Lock lock(mutex_);
  woken_ = true;
  wake_.notify_one();
}

void ArtifactRemoval::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Result<> done = remove_all(stop);
    if (!done && complain_)
      complain_(fmt::format("removing artifacts of removed runs: {}", done.error().message));
    Lock lock(mutex_);
    wake_.wait_for(lock, stop, kEvery, [this]() REQUIRES(mutex_) { return woken_; });
    woken_ = false;
  }
}

Result<> ArtifactRemoval::remove_all(const std::stop_token& stop) {
  std::int64_t last = 0;
  while (!stop.stop_requested()) {
    const auto places = TRY(in_snapshot(reader_, [&](store::Reading& reading) {
      return store::page::removed_artifacts(reading, last, kAtOnce);
    }));
    if (places.empty()) return {};
    std::vector<std::int64_t> gone;
    for (const auto& place : places) {
      if (stop.stop_requested()) break;
      if (remove_one(place)) gone.push_back(place.id);
    }
    last = places.back().id;
    if (gone.empty()) continue;
    TRY(store_.change([&](store::Writing& writing) {
      return store::page::forget_removed_artifacts(writing, gone);
    }));
  }
  return {};
}

bool ArtifactRemoval::remove_one(const store::page::RemovedArtifacts& place) {
  const Result<std::string> path = path_in_store(artifacts_, place.location, "");
  if (!path || path->empty()) return true;
  const Result<> removed = artifacts_.remove(*path);
  if (removed) {
    reported_.erase(place.id);
    return true;
  }
  if (reported_.insert(place.id).second && complain_) {
    complain_(fmt::format("the artifacts of what was removed stay at {} for now: {}",
                          to_utf8(place.location), removed.error().message));
  }
  return false;
}

}  // namespace corral::server
