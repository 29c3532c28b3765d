#include "server/core/artifact_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "store/artifacts/open/open_artifacts.h"
#include "store/open/sqlite_store.h"
#include "store/test_reader.h"

namespace corral::server {
namespace {

namespace fs = std::filesystem;
using store::artifacts::ArtifactStore;

class ArtifactPlace : public ::testing::Test {
 protected:
  ~ArtifactPlace() override {
    std::error_code error;
    fs::remove_all(directory_, error);
  }
  std::unique_ptr<ArtifactStore> place(const std::string& name) {
    return *store::artifacts::open_artifact_store((directory_ / name).string());
  }
  // Empty: this is the place.
  std::string other_than(const std::string& name) {
    const auto artifacts = place(name);
    const auto other = other_artifact_place(*store_, reader_of(*store_), *artifacts);
    EXPECT_TRUE(other) << other.error().message;
    return other ? other->value_or("") : "";
  }

  const fs::path directory_ = fs::temp_directory_path() / ("corral-place-" + RunId::random().hex());
  const std::unique_ptr<store::Store> store_ =
      *store::open_sqlite_store({.directory = directory_ / "store"});
};

TEST_F(ArtifactPlace, TheFirstServersCounts) {
  EXPECT_EQ(other_than("a"), "");
  EXPECT_EQ(other_than("a"), "");
  EXPECT_TRUE(other_than("b").ends_with((directory_ / "a").string()));
  EXPECT_FALSE(fs::exists(directory_ / "b" / kPlaceMark));
  // Moved with its mark, it is the place.
  fs::rename(directory_ / "a", directory_ / "c");
  EXPECT_EQ(other_than("c"), "");
  EXPECT_NE(other_than("a"), "");
}

TEST_F(ArtifactPlace, APlaceThatIsMarkedIsTakenAsItIs) {
  EXPECT_EQ(other_than("a"), "");
  const auto second = store::open_sqlite_store({.directory = directory_ / "second"});
  ASSERT_TRUE(second);
  const auto artifacts = place("a");
  const auto other = other_artifact_place(**second, reader_of(**second), *artifacts);
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other);
  EXPECT_EQ(other_than("a"), "");
}

TEST_F(ArtifactPlace, AStoreOfOneServerIsNotAsked) {
  EXPECT_EQ(other_than("a"), "");
  const auto artifacts = place("b");
  EXPECT_EQ(check_artifact_place(*store_, reader_of(*store_), *artifacts), "");
}

}  // namespace
}  // namespace corral::server
