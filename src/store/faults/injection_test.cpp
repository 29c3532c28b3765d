// Every call that reaches the disk fails once: the append that needed it names the failure, nothing
// of it is stored, and the service continues.
#include <gtest/gtest.h>

#include "store/faults/engine.h"
#include "store/faults/power_cut_vfs.h"
#include "store/faults/raw_sqlite.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/open/sqlite_store.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

struct InjectionCase {
  const char* name;
  DiskCall call;
  bool full;
  bool lasting;
  int step;  // every how many calls one is made to fail; CORRAL_SOAK=2 and more: each
};

class Injection : public ::testing::TestWithParam<InjectionCase> {
 protected:
  DiskFault fault(std::uint64_t at) const {
    return {
        .call = GetParam().call, .at = at, .full = GetParam().full, .lasting = GetParam().lasting};
  }
  void expect_named(const Error& error) const {
    const bool named = error.code == Code::kIo || error.code == Code::kNoSpace ||
                       (GetParam().call == DiskCall::kOpen && error.code == Code::kPermission);
    EXPECT_TRUE(named) << code_name(error.code) << ": " << error.message;
    if (GetParam().full) {
      EXPECT_EQ(error.code, Code::kNoSpace) << error.message;
    }
    EXPECT_NE(error.message.find(store_.string()), std::string::npos) << error.message;
  }

  std::unique_ptr<Store> open_in_the_end() {
    auto store = open_sqlite_store({.directory = store_});
    if (!store) {
      expect_named(store.error());
      vfs_.clear();
      met_ = true;
      store = open_sqlite_store({.directory = store_});
    }
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }

  // Appends, and where that fails looks at the store, ends the fault, and appends again.
  void append(Store& store, const Script& script, const Frames& frames, const Durable& before) {
    auto result = store.append(frames);
    if (!result) {
      expect_named(result.error());
      met_ = vfs_.clear() || met_;
      const auto durable = durable_of(store, script);
      ASSERT_TRUE(durable) << durable.error().message;
      EXPECT_EQ(*durable, before) << "nothing of a failed append is stored";
      ASSERT_EQ(problem_of(store, script, before), "");
      result = store.append(frames);
    }
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->refusals.empty()) << result->refusals[0].error.message;
  }

  void seal(Store& store, const Script& script, bool settle) {
    auto result = store.seal(settle);
    if (!result) {
      expect_named(result.error());
      met_ = vfs_.clear() || met_;
      ASSERT_EQ(problem_of(store, script, script.sent()), "");
      result = store.seal(settle);
    }
    ASSERT_TRUE(result) << result.error().message;
  }

  // False: the workload ended before the call came.
  bool one_round(std::uint64_t at) {
    fs::remove_all(store_);
    met_ = false;
    vfs_.inject(fault(at));
    Script script(7, {.series = 1, .sessions = 1, .rows = 2500, .large = 90});
    for (int opened = 0; opened < 2; ++opened) {
      auto store = open_in_the_end();
      if (!store) return false;
      for (int i = 0; i < 6 && !HasFatalFailure(); ++i) {
        const Durable before = script.sent();
        const Frames frames = script.next();
        append(*store, script, frames, before);
        if (i % 3 == 2 && !HasFatalFailure()) seal(*store, script, i == 5);
      }
    }
    met_ = vfs_.clear() || met_;
    EXPECT_EQ(integrity_problem(store_ / "corral.db"), "");
    auto store = open_in_the_end();
    EXPECT_TRUE(store && problem_of(*store, script, script.sent()).empty());
    EXPECT_FALSE(blobs(store_ / "corral.db", {"pyramid", "data"}).empty()) << "blocks are made";
    return met_;
  }

  Workspace workspace_;
  const fs::path store_ = workspace_.path() / "store";
  PowerCutVfs vfs_;
  bool met_ = false;
};

TEST_P(Injection, IsNamedStoresNothingAndIsGotOver) {
  const bool each = number_from_environment("CORRAL_SOAK", 1) > 1;
  std::uint64_t at = 1;
  while (one_round(at) && !HasFailure()) at += each ? 1U : static_cast<unsigned>(GetParam().step);
  EXPECT_FALSE(HasFailure()) << "call " << at;
  EXPECT_GT(at, 1U) << "the workload makes such calls";
}

// A read that fails says so or gives everything, and the next one is good.
TEST(ReadInjection, IsNamedAndGotOver) {
  const Workspace workspace;
  PowerCutVfs vfs;
  Script script(7, {.rows = 300});
  {
    auto store = open_sqlite_store({.directory = workspace.path()});
    ASSERT_TRUE(store);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE((*store)->append(script.next()));
  }
  bool met = true;
  for (std::uint64_t at = 1; met; ++at) {
    SCOPED_TRACE("read " + std::to_string(at) + " fails");
    auto store = open_sqlite_store({.directory = workspace.path()});
    ASSERT_TRUE(store);
    vfs.inject({.call = DiskCall::kRead, .at = at, .full = false, .lasting = false});
    const auto found = read_points(**store, script);
    met = vfs.clear();
    if (!found) {
      EXPECT_EQ(found.error().code, Code::kIo) << found.error().message;
    }
    EXPECT_TRUE(met || found);
    ASSERT_EQ(problem_of(**store, script, script.sent()), "");
    if (found) {
      EXPECT_EQ(found->points, read_points(**store, script)->points);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sqlite, Injection,
    ::testing::Values(InjectionCase{"Full", DiskCall::kWrite, true, false, 17},
                      InjectionCase{"FullUntilThereIsRoom", DiskCall::kWrite, true, true, 19},
                      InjectionCase{"Write", DiskCall::kWrite, false, false, 23},
                      InjectionCase{"WritesUntilRepaired", DiskCall::kWrite, false, true, 29},
                      InjectionCase{"Sync", DiskCall::kSync, false, false, 2},
                      InjectionCase{"Truncate", DiskCall::kTruncate, false, false, 1},
                      InjectionCase{"Delete", DiskCall::kDelete, false, false, 1},
                      InjectionCase{"Read", DiskCall::kRead, false, false, 13},
                      InjectionCase{"Open", DiskCall::kOpen, false, false, 1},
                      InjectionCase{"SharedMemory", DiskCall::kShm, false, false, 5}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace corral::store::faults
