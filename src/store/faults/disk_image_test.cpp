#include "store/faults/disk_image.h"

#include <gtest/gtest.h>

#include <set>

namespace corral::store::faults {
namespace {

using Kind = DiskEvent::Kind;

DiskEvent write(std::int64_t offset, std::size_t size, std::uint8_t value) {
  return {.kind = Kind::kWrite,
          .file = "db",
          .offset = offset,
          .bytes = std::vector<std::uint8_t>(size, value),
          .directory_synced = false};
}
DiskEvent event(Kind kind, std::string file = "db") {
  return {
      .kind = kind, .file = std::move(file), .offset = 0, .bytes = {}, .directory_synced = false};
}

TEST(DiskImageTest, WhatWasSyncedStaysInEveryCut) {
  Disk disk({"db"});
  const DiskEvent first = write(0, 2000, 1);
  disk.apply(first);
  disk.apply(event(Kind::kSync));
  Random random(1);
  for (int cut = 0; cut < kCuts; ++cut)
    EXPECT_EQ(disk.after(static_cast<Cut>(cut), random).at("db"), first.bytes);
}

TEST(DiskImageTest, AFailedSyncLosesWhatItWasToWrite) {
  Disk disk({"db"});
  const DiskEvent first = write(0, 100, 1);
  const DiskEvent second = write(100, 100, 2);
  disk.apply(first);
  disk.apply(event(Kind::kFailedSync));
  disk.apply(second);
  disk.apply(event(Kind::kSync));
  Random random(1);
  const auto file = disk.after(Cut::kKept, random).at("db");
  ASSERT_EQ(file.size(), 200U);
  EXPECT_EQ(file[0], 0);
  EXPECT_EQ(file[100], 2);
}

TEST(DiskImageTest, UnsyncedSectorsAreKeptEachForItself) {
  Disk disk({"db"});
  const DiskEvent old = write(0, 2048, 1);
  const DiskEvent young = write(0, 2048, 2);
  disk.apply(old);
  disk.apply(event(Kind::kSync));
  disk.apply(young);
  Random random(1);
  std::set<std::vector<std::uint8_t>> seen;
  for (int i = 0; i < 200; ++i) {
    const auto file = disk.after(Cut::kScattered, random).at("db");
    std::vector<std::uint8_t> sectors;
    for (std::size_t at = 0; at < file.size(); at += 512) {
      EXPECT_EQ(
          std::set(file.begin() + static_cast<long>(at), file.begin() + static_cast<long>(at) + 512)
              .size(),
          1U);
      sectors.push_back(file[at]);
    }
    seen.insert(sectors);
  }
  EXPECT_EQ(seen.size(), 16U) << "every mixture of four sectors";
}

TEST(DiskImageTest, AFileThatWasDeletedMayComeBackUntilTheDirectoryIsSynced) {
  Disk disk({"db"});
  disk.apply(event(Kind::kDelete));
  Random random(1);
  EXPECT_EQ(disk.after(Cut::kDropped, random).size(), 1U);
  EXPECT_EQ(disk.after(Cut::kKept, random).size(), 0U);
  const DiskEvent made = event(Kind::kCreate, "log");
  disk.apply(made);
  disk.apply(event(Kind::kSync, "log"));
  EXPECT_EQ(disk.after(Cut::kDropped, random).count("db"), 0U);
  EXPECT_EQ(disk.after(Cut::kDropped, random).count("log"), 1U);
}

}  // namespace
}  // namespace corral::store::faults
