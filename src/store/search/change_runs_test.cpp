// Names, tags, archive and trash of runs, on both engines.
#include "store/search/change_runs.h"

#include "store/search/experiments.h"
#include "store/search/test_search.h"
#include "store/test_frames.h"

namespace corral::store::tracking {
namespace {

using testing::samples;
using testing::SessionWriter;

class ChangeRuns : public SearchTest {
 protected:
  void append(const std::vector<codec::Frame>& frames) {
    const auto result = store_->append(frames);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->refusals.empty());
  }
  // A run with three points.
  void record(SessionWriter& writer, RunId id) {
    append({writer.frame(testing::session_body(id)),
            writer.frame(codec::SchemaBody{.series = {testing::series_def(1, "loss")}}),
            writer.frame(samples(1, {{2000, 0.0}, {2001, 1.0}, {2002, 2.0}}))});
  }
  void end(SessionWriter& writer) {
    append({writer.frame(codec::RunEndBody{.time = boot_time(9000),
                                           .reason = codec::EndReason::kExit,
                                           .exit_code = 0,
                                           .exit_signal = {}})});
  }
  store::Run run(RunId id) {
    auto found = reader_of(*store_).run(id);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : store::Run{};
  }
  std::int64_t points(RunId id) { return reader_of(*store_).series_of(id)->at(0).points; }
  RunPage listed(Lifecycle lifecycle) {
    RunFilter filter;
    filter.lifecycle = lifecycle;
    return *reader_of(*store_).runs(filter);
  }
  void reopen() {
    store_.reset();
    auto store = place_->open();
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }
  // At time 0.
  Result<std::vector<ChangedRun>> change(const std::vector<RunToChange>& changes,
                                         ChangeOptions options = {}) {
    ChangedRuns changed;
    const auto work = [&](Writing& db) -> Result<> {
      changed = TRY(change_runs(db, changes, options));
      return {};
    };
    TRY(store_->change(work));
    if (changed.refused) return tl::unexpected(*changed.refused);
    return changed.runs;
  }
};

TEST_P(ChangeRuns, TheTrashHidesARunKeepsWhatItSendsAndGivesItBack) {
  const RunId kept = RunId::random();
  const RunId trashed = RunId::random();
  SessionWriter one;
  SessionWriter two;
  record(one, kept);
  record(two, trashed);
  const auto refused = change({{trashed, {.lifecycle = Lifecycle::kDeleted}},
                               {kept, {.name = "other", .lifecycle = Lifecycle::kDeleted}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(run(kept).name, "calm-otter") << "nothing of it was done";
  EXPECT_EQ(change({{RunId::random(), {.name = "x"}}}).error().code, Code::kNotFound);
  const auto moved = change({{trashed, {.lifecycle = Lifecycle::kDeleted}}}, {.force = true});
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->at(0).undo, (RunChange{.lifecycle = Lifecycle::kActive}));
  EXPECT_EQ(reader_of(*store_).runs({})->total, 1);
  EXPECT_EQ(listed(Lifecycle::kDeleted).runs.at(0).id, trashed);
  EXPECT_EQ(reader_of(*store_).experiments()->at(0).runs, 1);
  EXPECT_EQ(*reader_of(*store_).find_runs("calm-otter"), std::vector{kept});
  EXPECT_EQ(run(trashed).trashed, utc_time(0));
  append({two.frame(samples(1, {{5000, 7.0}}))});
  EXPECT_EQ(points(trashed), 4) << "what it sends is kept";
  reopen();
  const auto restored = change({{trashed, moved->at(0).undo}});
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(reader_of(*store_).runs({})->total, 2);
  EXPECT_FALSE(run(trashed).trashed);
  EXPECT_EQ(points(trashed), 4);
}

TEST_P(ChangeRuns, TheTrashIsEmptiedAfterThirtyDays) {
  const RunId ended = RunId::random();
  const RunId running = RunId::random();
  const RunId deleted = RunId::random();
  SessionWriter writers[3];
  record(writers[0], ended);
  end(writers[0]);
  record(writers[1], running);
  record(writers[2], deleted);
  end(writers[2]);
  const auto empty = [&](Nanos after) {
    const auto removal = store_->empty_trash(utc_time(0) + after);
    EXPECT_TRUE(removal) << removal.error().message;
    return removal->runs;
  };
  EXPECT_TRUE(empty(2 * kTrashKept).empty()) << "nothing is in the trash";
  for (const RunId id : {ended, running})
    ASSERT_TRUE(change({{id, {.lifecycle = Lifecycle::kDeleted}}}, {.force = true}));
  // As from before there was a time, or from another store.
  EXPECT_TRUE(store_->change([&](Writing& db) {
    return db->exec("UPDATE runs SET lifecycle = 1 WHERE id = ?1", deleted);
  }));
  EXPECT_TRUE(empty(kTrashKept).empty()) << "the last moment";
  EXPECT_EQ(empty(kTrashKept + Nanos(1)), std::vector{ended});
  EXPECT_FALSE(*reader_of(*store_).run(ended));
  EXPECT_EQ(run(running).status, RunStatus::kRunning) << "as long as it runs";
  EXPECT_TRUE(empty(2 * kTrashKept).empty()) << "30 days from when its time was noted";
  EXPECT_EQ(empty(2 * kTrashKept + Nanos(1)), std::vector{deleted});
  EXPECT_EQ(listed(Lifecycle::kDeleted).total, 1);
}

TEST_P(ChangeRuns, ADeletedExperimentIsBackWithItsNextRunAndElseGoes) {
  const RunId first = RunId::random();
  const RunId next = RunId::random();
  SessionWriter writers[2];
  record(writers[0], first);
  end(writers[0]);
  const ExperimentId id = reader_of(*store_).experiments()->at(0).id;
  const auto delete_at = [&](UtcTime now) {
    EXPECT_TRUE(store_->change(
        [&](Writing& db) { return set_lifecycle(db, id, Lifecycle::kDeleted, now); }));
  };
  delete_at(utc_time(0));
  EXPECT_TRUE(reader_of(*store_).experiments()->empty());
  record(writers[1], next);
  end(writers[1]);
  EXPECT_EQ(reader_of(*store_).experiments()->at(0).runs, 1);
  EXPECT_EQ(run(first).lifecycle, Lifecycle::kDeleted);
  delete_at(utc_time(5));
  ASSERT_TRUE(change({{next, {.lifecycle = Lifecycle::kActive}}}));
  EXPECT_EQ(reader_of(*store_).experiments()->at(0).id, id) << "a restored run takes it along";
  delete_at(utc_time(5));
  ASSERT_TRUE(store_->empty_trash(utc_time(6) + kTrashKept));
  const auto there = [&] {
    std::int64_t count = 0;
    EXPECT_TRUE(store_->change([&](Writing& db) -> Result<> {
      count = TRY(db->number("SELECT count(*) FROM experiments WHERE id = ?1", id)).value_or(-1);
      return {};
    }));
    return count;
  };
  EXPECT_EQ(there(), 0);
}

TEST_P(ChangeRuns, ArchivedRunsAreFoundByNameAndLeftOutOfLists) {
  const RunId id = RunId::random();
  SessionWriter writer;
  record(writer, id);
  const auto changed = change({{id,
                                {.name = "old",
                                 .tags = {{"team", "vision"}, {"none", std::nullopt}},
                                 .lifecycle = Lifecycle::kArchived}}});
  ASSERT_TRUE(changed) << changed.error().message;
  const RunChange undo{
      .name = "calm-otter", .tags = {{"team", std::nullopt}}, .lifecycle = Lifecycle::kActive};
  EXPECT_EQ(changed->at(0).undo, undo);
  EXPECT_EQ(reader_of(*store_).runs({})->total, 0);
  EXPECT_EQ(listed(Lifecycle::kArchived).total, 1);
  EXPECT_EQ(*reader_of(*store_).find_runs("old"), std::vector{id});
  EXPECT_EQ(run(id).tags, (codec::Attributes{{"team", "vision"}}));
  EXPECT_TRUE(store_->empty_trash(utc_time(0) + 100 * kTrashKept)->runs.empty());
  ASSERT_TRUE(change({{id, undo}}));
  EXPECT_EQ(run(id).name, "calm-otter");
  EXPECT_TRUE(run(id).tags.empty());
  const auto same = change({{id, undo}});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->at(0).undo.empty()) << "it was so already";
}

INSTANTIATE_TEST_SUITE_P(Engines, ChangeRuns, both_engines(), engine_name);

}  // namespace
}  // namespace corral::store::tracking
