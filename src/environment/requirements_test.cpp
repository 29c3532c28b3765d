#include "environment/requirements.h"

#include <gtest/gtest.h>

#include "environment/test_support.h"
#include "environment/tool.h"

namespace corral::environment {
namespace {

TEST(Blame, NamesThePackageOfEachTool) {
  EXPECT_EQ(
      blamed_package("ERROR: Could not find a version that satisfies the requirement six==99 "
                     "(from versions: 1.0)\nERROR: No matching distribution found for six==99"),
      "six==99");
  EXPECT_EQ(blamed_package("ERROR: Cannot install six==1.15.0 and six==1.16.0 because"),
            "six==1.15.0 and six==1.16.0 because");
  EXPECT_EQ(blamed_package("error: No solution found when resolving dependencies\n  cause: Because "
                           "there is no version of six==99.0 and you require six==99.0, we can"),
            "six==99.0");
  EXPECT_EQ(blamed_package("error: Failed to build `brk @ file:///x`\n"), "brk @ file:///x");
  EXPECT_EQ(blamed_package("error: Distribution not found at: file:///foo.whl"), "file:///foo.whl");
  EXPECT_EQ(blamed_package("ResolvePackageNotFound: \n  - nope=1\n"), "nope=1");
  EXPECT_EQ(
      blamed_package("error    libmamba Could not solve\n  nothing provides requested nope 9\n"),
      "nope 9");
  EXPECT_EQ(blamed_package("Killed"), "");
}

TEST(Blame, TellsTheReasonWithoutPasswords) {
  EXPECT_EQ(
      blame("Looking in https://me:secret@host/simple\nERROR: No matching distribution found "
            "for six==99 at https://me:secret@host/simple\n"),
      "package six==99 cannot be installed: ERROR: No matching distribution found for six==99 "
      "at https://host/simple");
  EXPECT_EQ(blame("disk full\n"), "disk full");
  EXPECT_EQ(blame(""), "the tool gave no reason");
}

TEST(Requirements, ContentIsThatOfAllFiles) {
  Workshop shop;
  const fs::path file =
      shop.file("r.txt", "six\n-r sub/more.txt\n./local.whl ; python_version>'3'\n");
  shop.file("sub/more.txt", "-c limits.txt\n");
  shop.file("sub/limits.txt", "six<2\n");
  const std::string first = requirements_content(file).value();
  EXPECT_EQ(requirements_content(file).value(), first);
  shop.file("sub/limits.txt", "six<3\n");
  const std::string second = requirements_content(file).value();
  EXPECT_NE(second, first);
  shop.file("local.whl", "zip");
  EXPECT_NE(requirements_content(file).value(), second);
}

TEST(Requirements, MissingAndCircularFilesAreNamed) {
  Workshop shop;
  const fs::path file = shop.file("r.txt", "-r gone.txt\n");
  EXPECT_NE(requirements_content(file).error().message.find("gone.txt"), std::string::npos);
  shop.file("gone.txt", "-r r.txt\n");
  EXPECT_NE(requirements_content(file).error().message.find("include each other"),
            std::string::npos);
}

TEST(Credentials, NeverStay) {
  EXPECT_EQ(without_credentials("a https://u:p@h/x b git+ssh://t@h, c@d"),
            "a https://h/x b git+ssh://h, c@d");
  EXPECT_EQ(without_credentials("no address"), "no address");
}

}  // namespace
}  // namespace corral::environment
