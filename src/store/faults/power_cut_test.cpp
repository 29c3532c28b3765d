// The power goes at any moment of a recorded history; every possible content of the disk is then a
// good store that has each acknowledged point once.
#include <gtest/gtest.h>

#include "store/faults/disk_image.h"
#include "store/faults/engine.h"
#include "store/faults/power_cut_vfs.h"
#include "store/faults/raw_sqlite.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/open/sqlite_store.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

// One append: the record's length when it began and when it was acknowledged, and where the
// sessions stood after it.
struct Call {
  std::size_t begun = 0;
  std::size_t acknowledged = 0;
  Durable after;
};

struct History {
  explicit History(std::uint64_t seed) : script(seed, {.rows = 300}) {}
  Script script;
  std::vector<Call> calls;
  std::vector<DiskEvent> events;
};

class PowerCut : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(const fs::path& directory) {
    auto store = open_sqlite_store({.directory = directory});
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }

  // A store is made, filled, closed and opened again; failed calls are retried once.
  void record(History& history, int opens, int appends) {
    vfs_.record(store_);
    for (int i = 0; i < opens; ++i) {
      auto opened = open_sqlite_store({.directory = store_});
      if (!opened) opened = open_sqlite_store({.directory = store_});
      ASSERT_TRUE(opened) << opened.error().message;
      const std::unique_ptr<Store> store = *std::move(opened);
      for (int k = 0; k < appends; ++k) {
        const Frames frames = history.script.next();
        Call call{.begun = vfs_.event_count(), .acknowledged = 0, .after = history.script.sent()};
        auto result = store->append(frames);
        if (!result) result = store->append(frames);
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_TRUE(result->refusals.empty());
        call.acknowledged = vfs_.event_count();
        history.calls.push_back(std::move(call));
        if (k % 12 == 11 && !store->seal(k % 24 == 23)) {
          ASSERT_TRUE(store->seal(k % 24 == 23));
        }
      }
    }
    history.events = vfs_.events();
    vfs_.record(fs::path("/nowhere"));
  }

  // The disk after `length` events of the history must be a good store.
  void check(History& history, std::size_t length, const DiskImage& image) {
    write_image(image, image_);
    auto store = open(image_);
    ASSERT_TRUE(store);
    Durable least, most;
    for (const Call& call : history.calls) {
      if (call.acknowledged <= length) least = call.after;
      if (call.begun <= length) most = call.after;
    }
    ASSERT_EQ(problem_of(*store, history.script, least), "");
    const auto durable = durable_of(*store, history.script);
    EXPECT_TRUE(*durable == least || *durable == most) << "an append is stored whole";
    if (++checked_ % 4 == 0) {
      ASSERT_TRUE(store->seal(checked_ % 8 == 0));
      ASSERT_TRUE(store->append(history.script.above(*durable)));
      ASSERT_EQ(problem_of(*store, history.script, history.script.sent()), "");
    }
    store.reset();
    EXPECT_EQ(integrity_problem(image_ / "corral.db"), "");
  }

  void check_cuts(History& history, const Disk& disk, std::size_t length, int first, int count) {
    for (int i = 0; i < count; ++i) {
      const auto cut = static_cast<Cut>((first + i) % kCuts);
      SCOPED_TRACE("cut " + std::to_string(static_cast<int>(cut)) + " after event " +
                   std::to_string(length) + ", CORRAL_FAULT_SEED=" + std::to_string(seed_));
      check(history, length, disk.after(cut, random_));
    }
  }

  const std::uint64_t seed_ = number_from_environment("CORRAL_FAULT_SEED", 1);
  const std::uint64_t soak_ = number_from_environment("CORRAL_SOAK", 1);
  Workspace workspace_;
  const fs::path store_ = workspace_.path() / "store";
  const fs::path image_ = workspace_.path() / "image";
  PowerCutVfs vfs_;
  Random random_{seed_};
  int checked_ = 0;
};

TEST_F(PowerCut, LosesNothingAtAnySyncPoint) {
  History history(seed_);
  ASSERT_NO_FATAL_FAILURE(record(history, 2, 60));
  Disk disk({"corral.db"});
  int syncs = 0;
  int checkpoints = 0;
  for (std::size_t i = 0; i < history.events.size() && !HasFatalFailure(); ++i) {
    const DiskEvent& event = history.events[i];
    if (event.kind == DiskEvent::Kind::kSync) {
      // Checkpoints and the making of the tables in every way, commits in one of them each.
      const bool rare = event.file != "corral.db-wal" || syncs < 8;
      checkpoints += event.file == "corral.db" ? 1 : 0;
      const int cuts = rare ? kCuts : (soak_ > 1 || syncs % 2 == 0 ? 1 : 0);
      check_cuts(history, disk, i, syncs / 2, cuts * static_cast<int>(soak_));
      ++syncs;
    } else if (random_() % (200 / soak_ + 1) == 0) {
      check_cuts(history, disk, i, static_cast<int>(random_() % kCuts), 1);
    }
    disk.apply(event);
    if (event.kind == DiskEvent::Kind::kSync && syncs % 10 == 0)
      check_cuts(history, disk, i + 1, 0, 1);
  }
  EXPECT_GE(checkpoints, 4) << "the history must hold checkpoints by commits and by closing";
}

// The kernel forgets the data of a failed fsync (its pages are "clean" afterwards): later
// acknowledgements must not depend on that data.
TEST_F(PowerCut, LosesNothingAfterAFailedSync) {
  bool met = true;
  for (std::uint64_t at = 1; met && !HasFatalFailure(); at += soak_ > 1 ? 1 : 3) {
    SCOPED_TRACE("sync " + std::to_string(at) + " fails");
    fs::remove_all(store_);
    History history(seed_);
    vfs_.inject({.call = DiskCall::kSync, .at = at, .full = false, .lasting = false});
    ASSERT_NO_FATAL_FAILURE(record(history, 2, 25));
    met = vfs_.clear();
    Disk disk({"corral.db"});
    std::size_t call = 0;
    bool failed = false;
    for (std::size_t i = 0; i < history.events.size() && !HasFatalFailure(); ++i) {
      disk.apply(history.events[i]);
      failed = failed || history.events[i].kind == DiskEvent::Kind::kFailedSync;
      const bool acknowledged =
          call < history.calls.size() && history.calls[call].acknowledged == i + 1;
      if (!acknowledged) continue;
      if (failed && call % 8 == 0) check_cuts(history, disk, i + 1, static_cast<int>(call / 8), 1);
      ++call;
    }
    check_cuts(history, disk, history.events.size(), 0, 1);
  }
}

}  // namespace
}  // namespace corral::store::faults
