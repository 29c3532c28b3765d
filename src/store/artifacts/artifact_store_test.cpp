#include "store/artifacts/artifact_store.h"

#include <gtest/gtest.h>

#include "store/artifacts/open/open_artifacts.h"

namespace corral::store::artifacts {
namespace {

TEST(ArtifactPaths, NamesOfFiles) {
  EXPECT_TRUE(check_path(""));
  EXPECT_FALSE(check_file_path(""));
  for (const char* path : {"a", "a/b.txt", "img%step%1", "größe", "a b", "..a", "C:"})
    EXPECT_TRUE(check_file_path(path)) << path;
  for (const char* path :
       {"/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "a\\b", "a\nb", "\xff"}) {
    const auto checked = check_path(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(check_path(std::string_view("a\0b", 3)));
}

TEST(ArtifactPaths, Lengths) {
  EXPECT_TRUE(check_path(std::string(255, 'n')));
  EXPECT_FALSE(check_path(std::string(256, 'n')));
  std::string deep = "a";
  while (deep.size() + 2 <= 1000) deep += "/a";
  EXPECT_TRUE(check_path(deep));
  EXPECT_FALSE(check_path(deep + "/aa"));
}

TEST(ArtifactLocations, UnknownSchemesAreRefused) {
  for (const char* location : {"gs://bucket", "http://host/a", "", "s3://", "s3://b?d/x"}) {
    const auto opened = open_artifact_store(location);
    ASSERT_FALSE(opened) << location;
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace corral::store::artifacts
