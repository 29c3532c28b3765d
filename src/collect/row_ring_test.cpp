#include "collect/row_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace corral::collect {
namespace {

TEST(RowRing, StartsEveryRowAbsent) {
  RowRing ring(2, 3);
  RowRing::Slot slot;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(ring.begin(3, slot));
    EXPECT_EQ(slot.present[1], 0);
    slot.present[1] = 1;
    ring.commit(0, boot_time(i));
    ring.drain([](const RowView&) {});
  }
}

TEST(RowRing, TouchesOnlyWhatRowsWaitIn) {
  RowRing ring(8, 1);
  RowRing::Slot first;
  RowRing::Slot slot;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(ring.begin(1, i == 0 ? first : slot));
    ring.commit(0, boot_time(i));
    if (i > 0) {
      EXPECT_EQ(slot.values.data(), first.values.data());
    }
    ring.drain([&](const RowView& row) { EXPECT_EQ(row.values.data(), first.values.data()); });
  }
}

TEST(RowRing, ShowsNothingBeforeCommit) {
  RowRing ring(2, 1);
  RowRing::Slot slot;
  ASSERT_TRUE(ring.begin(1, slot));
  ring.drain([](const RowView&) { FAIL(); });
}

TEST(RowRing, RefusesWhenFullAndKeepsTheOldest) {
  RowRing ring(2, 1);
  RowRing::Slot slot;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ring.begin(1, slot));
    ring.commit(0, boot_time(i));
  }
  EXPECT_FALSE(ring.begin(1, slot));
  std::int64_t next = 0;
  ring.drain([&](const RowView& row) { EXPECT_EQ(ns_of(row.time), next++); });
  EXPECT_EQ(next, 2);
}

TEST(RowRing, KeepsRowsWholeAndInOrderBetweenTwoThreads) {
  constexpr std::int64_t kRows = 20'000;
  RowRing ring(8, 4);
  std::thread producer([&] {
    for (std::int64_t i = 0; i < kRows;) {
      RowRing::Slot slot;
      const std::size_t columns = i % 2 == 0 ? 4 : 1;
      if (!ring.begin(columns, slot)) continue;
      for (double& v : slot.values) v = static_cast<double>(i);
      ring.commit(static_cast<int>(i % 2), boot_time(i));
      ++i;
    }
  });
  std::int64_t next = 0;
  bool whole = true;
  while (next < kRows) {
    ring.drain([&](const RowView& row) {
      whole = whole && ns_of(row.time) == next && row.group == next % 2 &&
              row.values.size() == (next % 2 == 0 ? 4u : 1u);
      for (const double v : row.values) whole = whole && v == static_cast<double>(next);
      ++next;
    });
  }
  producer.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace corral::collect
