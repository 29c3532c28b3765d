#include "sys/private_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>

namespace corral::sys {
namespace {

constexpr uid_t kOther = 65534;

class PrivateDirectoryTest : public testing::Test {
 protected:
  PrivateDirectoryTest() {
    std::string name = (fs::temp_directory_path() / "corral-private-XXXXXX").string();
    base_ = ::mkdtemp(name.data());
    outside_ = base_ / "outside";
    EXPECT_TRUE(replace_file(outside_, "secret", 0600));
  }
  ~PrivateDirectoryTest() override {
    std::error_code error;
    fs::remove_all(base_, error);
  }
  fs::path directory(const fs::path& name, mode_t mode = 0700) const {
    EXPECT_EQ(::mkdir((base_ / name).c_str(), mode), 0);
    EXPECT_EQ(::chmod((base_ / name).c_str(), mode), 0);
    return base_ / name;
  }

  fs::path base_;
  fs::path outside_;
};

std::string refusal(const Result<PrivateDirectory>& opened) {
  if (opened) return "(trusted)";
  EXPECT_EQ(opened.error().code, Code::kPermission) << opened.error().message;
  return opened.error().message;
}

TEST_F(PrivateDirectoryTest, MakesReadsReplacesListsAndRemoves) {
  const auto made = PrivateDirectory::make(base_ / "a" / "b");
  ASSERT_TRUE(made) << made.error().message;
  struct stat facts {};
  ASSERT_EQ(::stat((base_ / "a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700U);
  ASSERT_TRUE(made->make_directory("c/d"));
  ASSERT_TRUE(made->replace_file("c/d/file", "first"));
  ASSERT_TRUE(made->replace_file("c/d/file", "second"));
  EXPECT_EQ(made->read_file("c/d/file").value(), "second");
  EXPECT_EQ(made->list("c/d"), std::vector<std::string>{"file"});
  ASSERT_TRUE(made->rename("c/d/file", "moved"));
  EXPECT_TRUE(made->exists("moved"));
  EXPECT_EQ(made->list(), (std::vector<std::string>{"c", "moved"}));
  EXPECT_TRUE(made->remove("moved"));
  EXPECT_TRUE(made->remove_all("c"));
  EXPECT_TRUE(made->list().empty());
  EXPECT_EQ(PrivateDirectory::open(base_ / "none").error().code, Code::kNotFound);
  EXPECT_EQ(made->read_file("none").error().code, Code::kNotFound);
}

TEST_F(PrivateDirectoryTest, NamesThatLeadOutAreRefused) {
  const auto at = PrivateDirectory::open(directory("at")).value();
  for (const char* name : {"..", "../outside", "x/../../outside", "/etc/passwd", "", "."}) {
    EXPECT_FALSE(at.open_file(name, O_RDONLY)) << name;
    EXPECT_FALSE(at.read_file(name)) << name;
    EXPECT_FALSE(at.remove(name)) << name;
  }
  EXPECT_TRUE(fs::exists(outside_));
}

TEST_F(PrivateDirectoryTest, RefusesWhatOthersCanWriteTo) {
  ASSERT_EQ(::chmod(base_.c_str(), 0755), 0);
  EXPECT_NE(refusal(PrivateDirectory::open(directory("all", 0707))).find("chmod go-w"),
            std::string::npos);
  directory("open", 0777);
  EXPECT_NE(refusal(PrivateDirectory::open(directory("open/below"))).find("sticky"),
            std::string::npos);
  EXPECT_TRUE(PrivateDirectory::open(directory("read", 0755)));
}

TEST_F(PrivateDirectoryTest, AStickyDirectoryAboveAndOwnLinksAboveAreTrusted) {
  directory("sticky", 01777);
  directory("sticky/own");
  fs::create_directory_symlink("sticky/../sticky", base_ / "link");
  const auto opened = PrivateDirectory::open(base_ / "link" / "own");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->path().filename(), "own");
  fs::create_directory_symlink("loop", base_ / "loop");
  EXPECT_FALSE(PrivateDirectory::open(base_ / "loop" / "x"));
}

TEST_F(PrivateDirectoryTest, NoLinkIsFollowedBelow) {
  const auto at = PrivateDirectory::open(directory("at")).value();
  fs::create_symlink(outside_, base_ / "at" / "link");
  fs::create_symlink(base_ / "new", base_ / "at" / "dangling");
  fs::create_directory_symlink(base_, base_ / "at" / "up");
  fs::create_hard_link(outside_, base_ / "at" / "hard");
  for (const char* name : {"link", "dangling", "up/outside", "hard"}) {
    const auto opened = at.open_file(name, O_RDWR | O_CREAT | O_TRUNC);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, Code::kPermission) << opened.error().message;
  }
  EXPECT_TRUE(at.list("up").empty());
  EXPECT_FALSE(at.remove("up/outside"));
  EXPECT_FALSE(at.remove_all("up/outside"));
  EXPECT_EQ(read_file(outside_).value(), "secret");
  EXPECT_FALSE(fs::exists(base_ / "new"));
  EXPECT_TRUE(at.remove_all("up"));
  EXPECT_TRUE(fs::exists(outside_));
}

TEST_F(PrivateDirectoryTest, RemovingATreeStopsAtLinks) {
  const auto at = PrivateDirectory::open(directory("at")).value();
  ASSERT_TRUE(at.make_directory("tree/below"));
  ASSERT_TRUE(at.replace_file("tree/below/file", ""));
  fs::create_directory_symlink(base_, base_ / "at" / "tree" / "below" / "up");
  EXPECT_TRUE(at.remove_all("tree"));
  EXPECT_FALSE(at.exists("tree"));
  EXPECT_TRUE(fs::exists(outside_));
  EXPECT_TRUE(at.remove_all("tree")) << "nothing is left of what is not there";
}

TEST_F(PrivateDirectoryTest, APipeDoesNotBlock) {
  const auto at = PrivateDirectory::open(directory("at")).value();
  ASSERT_EQ(::mkfifo((base_ / "at" / "pipe").c_str(), 0600), 0);
  for (const int flags : {O_RDONLY, O_RDWR}) {
    const auto opened = at.open_file("pipe", flags);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("not a regular file"), std::string::npos);
  }
}

TEST_F(PrivateDirectoryTest, WhatOthersCanWriteToCountsOnlyWhereTheyCannotEnter) {
  ASSERT_EQ(::chmod(base_.c_str(), 0755), 0);
  for (const auto& [mode, trusted] : {std::pair{0755, false}, std::pair{0700, true}}) {
    const std::string name = trusted ? "closed" : "open";
    const auto at = PrivateDirectory::open(directory(name, static_cast<mode_t>(mode))).value();
    ASSERT_TRUE(at.replace_file("file", "x"));
    ASSERT_EQ(::chmod((at.path() / "file").c_str(), 0606), 0);
    EXPECT_EQ(at.read_file("file").has_value(), trusted) << name;
    directory(name + "/below", 0707);
    EXPECT_EQ(at.directory("below").has_value(), trusted) << name;
    EXPECT_EQ(PrivateDirectory::open(at.path() / "below").has_value(), trusted) << name;
  }
}

TEST_F(PrivateDirectoryTest, FlagsOfTheCallerStay) {
  const auto at = PrivateDirectory::open(directory("at")).value();
  ASSERT_TRUE(at.replace_file("file", "long"));
  const Fd file = at.open_file("file", O_WRONLY | O_APPEND | O_TRUNC).value();
  const int flags = ::fcntl(file.get(), F_GETFL);
  EXPECT_NE(flags & O_APPEND, 0);
  EXPECT_EQ(flags & O_NONBLOCK, 0);
  EXPECT_EQ(at.read_file("file").value(), "");
}

TEST_F(PrivateDirectoryTest, AnOwnFileMayBeReachedThroughOwnLinks) {
  ASSERT_EQ(::chmod(base_.c_str(), 0755), 0);
  fs::create_symlink("outside", base_ / "link");
  EXPECT_TRUE(open_own_file(base_ / "link"));
  EXPECT_FALSE(open_own_file(base_)) << "a directory";
  EXPECT_FALSE(open_own_file(base_ / "outside" / "below"));
  EXPECT_EQ(open_own_file(base_ / "none").error().code, Code::kNotFound);
  ASSERT_EQ(::mkfifo((base_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(open_own_file(base_ / "pipe"));
  ASSERT_EQ(::chmod(outside_.c_str(), 0606), 0);
  EXPECT_FALSE(open_own_file(base_ / "link")) << "writable for others";
}

TEST_F(PrivateDirectoryTest, WhatKeepsOthersOutEndsWhereThePathGoesUp) {
  ASSERT_EQ(::chmod(base_.c_str(), 0755), 0);
  directory("closed", 0700);
  directory("open", 0777);
  fs::create_directory_symlink("../open", base_ / "closed" / "link");
  for (const fs::path& path : {base_ / "closed" / ".." / "open", base_ / "closed" / "link"})
    EXPECT_NE(refusal(PrivateDirectory::open(path)).find("chmod go-w"), std::string::npos) << path;
}

// With a real second owner.
class ForeignTest : public PrivateDirectoryTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  }
  static void give(const fs::path& path) { ASSERT_EQ(::lchown(path.c_str(), kOther, kOther), 0); }
};

TEST_F(ForeignTest, AGroupMayWriteOnlyIfItIsTheUsersOwn) {
  ASSERT_EQ(::chmod(base_.c_str(), 0755), 0);
  const auto own = PrivateDirectory::open(directory("own", 0770));  // group root of user root
  EXPECT_TRUE(own) << own.error().message;
  ASSERT_EQ(::chown(directory("shared", 0770).c_str(), 0, kOther), 0);
  EXPECT_NE(refusal(PrivateDirectory::open(base_ / "shared")).find("chmod go-w"),
            std::string::npos);
}

TEST_F(ForeignTest, NothingOfAnotherUserIsTrusted) {
  const auto names_owner = [](const std::string& text) {
    return text.find("user 65534") != std::string::npos;
  };
  give(directory("theirs"));
  EXPECT_TRUE(names_owner(refusal(PrivateDirectory::open(base_ / "theirs"))));
  EXPECT_TRUE(names_owner(refusal(PrivateDirectory::make(base_ / "theirs" / "new"))));
  EXPECT_FALSE(fs::exists(base_ / "theirs" / "new"));
  fs::create_directory_symlink(directory("own"), base_ / "link");
  give(base_ / "link");
  EXPECT_TRUE(names_owner(refusal(PrivateDirectory::open(base_ / "link"))));

  const auto at = PrivateDirectory::open(directory("at")).value();
  ASSERT_TRUE(at.make_directory("theirs"));
  ASSERT_TRUE(at.replace_file("theirs/file", "x"));
  ASSERT_TRUE(at.replace_file("file", "x"));
  give(at.path() / "theirs");
  give(at.path() / "file");
  EXPECT_TRUE(names_owner(at.read_file("file").error().message));
  EXPECT_TRUE(names_owner(at.read_file("theirs/file").error().message));
  EXPECT_TRUE(at.list("theirs").empty());
}

}  // namespace
}  // namespace corral::sys
