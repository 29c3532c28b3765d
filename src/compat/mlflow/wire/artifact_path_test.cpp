#include "compat/mlflow/wire/artifact_path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/text.h"

namespace corral::mlflow {
namespace {

TEST(ArtifactPath, NamesStayAsTheyAre) {
  for (const char* path : {"a", "model/MLmodel", "img%step%1%timestamp%5.png", "größe/ü.txt",
                           "a b+c", "100%", "a:b", "...", "..a/b..", "%", "%2", "%zz"}) {
    EXPECT_EQ(artifact_path(path).value_or("?"), path);
  }
}

TEST(ArtifactPath, RootAndSlashAtTheEnd) {
  EXPECT_EQ(artifact_path("").value_or("?"), "");
  EXPECT_EQ(artifact_path("model/").value_or("?"), "model");
}

// Escapes in a name are part of it: MLflow 2 names images so, and "%17" or "%23" may come of it.
TEST(ArtifactPath, EscapesAreNotDecoded) {
  for (const char* path : {"img%step%1%timestamp%1795290894733%k7b82110.png", "img%step%23%x.png",
                           "x%5c12-uuid", "x%2f", "%00", "a%20b", "a%2520b", "%ff"})
    EXPECT_EQ(artifact_path(path).value_or("?"), path);
}

TEST(ArtifactPath, RefusesWaysOut) {
  for (const char* path : {"..",          "../a",
                           "a/../b",      "a/..",
                           ".",           "./a",
                           "/etc/passwd", "%2fetc",
                           "%252fetc",    "..%2fa",
                           "%2e%2e/a",    "%252e%252e%252fa",
                           "%2e%2e",      "a%2f..%2f..%2fb",
                           "..%5ca",      "a%5c%2e%2e%5cb",
                           "%5c%5chost",  "a//b",
                           "//a",         "a\\b",
                           "a#b",         "C:/x",
                           "c%3a/x",      "a\nb",
                           "\x7f",        "\xff",
                           "/",           "a//"}) {
    const auto result = artifact_path(path);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(result.error().message.starts_with("Invalid path")) << result.error().message;
    EXPECT_TRUE(is_utf8(result.error().message));
  }
}

TEST(ArtifactPath, RefusesEndlessEncoding) {
  std::string deep = "%41";
  for (int i = 0; i < 20; ++i) deep = "%25" + deep.substr(1);
  EXPECT_FALSE(artifact_path(deep));
  std::string shallow = "%41";
  for (int i = 0; i < 5; ++i) shallow = "%25" + shallow.substr(1);
  EXPECT_EQ(artifact_path(shallow).value_or("?"), shallow);
}

// Every accepted path is relative, has only proper segments, and does not change when it is checked
// again.
TEST(ArtifactPath, WhatIsLetThroughIsSafe) {
  const bool holds = rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "..", ".", "/", "%2e", "%2F", "%25", "2e", "2f", "a", "b", "\\", "#", "%5C", "%00",
        "C:", "%", "\xc3\xbc", "%C3", "%BC", "\x01"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const auto path = artifact_path(text);
    if (!path) return;
    RC_ASSERT(artifact_path(*path).value() == *path);
    RC_ASSERT(path->find_first_of(std::string_view("\\#\0", 3)) == std::string::npos);
    if (path->empty()) return;
    for (const std::string_view segment : split(*path, '/'))
      RC_ASSERT(!segment.empty() && segment != "." && segment != "..");
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace corral::mlflow
