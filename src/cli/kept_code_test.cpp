// The list of kept code that a server gives, and how its files are written: nothing may lead out of
// the new directory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/kept_code.h"
#include "core/sha256.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;
using Words = std::vector<std::string>;

std::string list_with(const std::string& members) {
  return R"({"format": 1, "root": "/home/ann/proj", "directory": "exp",
             "whole": true, "files": [], )" +
         members + "}";
}

std::string file(const std::string& path) {
  return R"({"path": ")" + path + R"(", "sha256": ")" + std::string(64, 'a') +
         R"(", "bytes": 8, "mode": "644", "why": "script"})";
}

Result<KeptCode> read(const std::string& text) { return read_kept_code(Json::parse(text).value()); }

std::string with_files(const std::string& files) {
  return R"({"format": 1, "root": "/home/ann/proj", "directory": "", "whole": true, "files": [)" +
         files + "]}";
}

TEST(KeptCode, PathsThatLeadOutAreRefused) {
  EXPECT_TRUE(read(with_files(file("exp/train.py"))));
  for (const char* path :
       {"../x", "a/../../x", "a//b", "a/./b", ".git/hooks/post-checkout", "sub/.GIT/config",
        "sub/.git./config", "GIT~1/config", "a\\u0000b", "a\\nb", "", "a/"}) {
    const auto code = read(with_files(file(path)));
    ASSERT_FALSE(code) << path;
    EXPECT_EQ(code.error().code, Code::kUnprocessable) << path;
  }
  for (const char* path : {"../x", "/etc/passwd", ".git/config"}) {
    EXPECT_FALSE(read(list_with(R"("git": {"commit": ")" + std::string(40, 'a') +
                                R"(", "deleted": [")" + path + "\"]}")))
        << path;
  }
  EXPECT_FALSE(read(with_files(file("a.py") + "," + file("a.py"))));
  EXPECT_TRUE(read(with_files(file(".gitignore") + "," + file("digits.git/x"))));
}

TEST(KeptCode, AFileOutsideIsNamedAndNotRestored) {
  const auto code = read(with_files(file("/home/ann/.bashrc")));
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->files.empty());
  EXPECT_EQ(code->outside, Words{"/home/ann/.bashrc"});
}

TEST(KeptCode, AListThatIsNoneIsRefused) {
  for (const char* text :
       {R"({"format": 2, "root": "/r", "files": []})", R"({"format": 1, "root": "r", "files": []})",
        R"({"format": 1, "root": "/r"})",
        R"({"format": 1, "root": "/r", "directory": "../..", "files": []})",
        R"({"format": 1, "root": "/r", "files": [], "git": {"commit": "--upload-pack=x"}})",
        R"({"format": 1, "root": "/r", "files": [{"path": "a", "sha256": "x", "bytes": 1}]})"})
    EXPECT_FALSE(read(text)) << text;
}

TEST(KeptCode, LinksStayInside) {
  EXPECT_TRUE(stays_inside("a/b/link", "../c"));
  EXPECT_TRUE(stays_inside("a/b/link", "../../c/d"));
  EXPECT_TRUE(stays_inside("link", "./data"));
  EXPECT_FALSE(stays_inside("link", "../x"));
  EXPECT_FALSE(stays_inside("a/link", "../../x"));
  EXPECT_FALSE(stays_inside("link", "/etc/passwd"));
  EXPECT_FALSE(stays_inside("link", "sub/../../x"));
  EXPECT_FALSE(stays_inside("link", "sub/../x"));  // "sub" may be a link to a place higher up
  EXPECT_FALSE(stays_inside("link", ".git/hooks"));
  EXPECT_FALSE(stays_inside("link", ""));
}

TEST(KeptCode, RepositoriesThatRunProgramsAreRefused) {
  for (const char* address : {"https://github.com/ann/proj.git", "git@github.com:ann/proj.git",
                              "ssh://git@host/p", "/srv/git/proj.git", "git://host/p"})
    EXPECT_TRUE(check_repository(address)) << address;
  for (const char* address : {"ext::sh -c touch% /tmp/x", "--upload-pack=touch /tmp/x",
                              "file:///srv/x", "ssh://-oProxy/x", "git@-oProxyCommand=x:p",
                              "-host:path", "relative/path", "", "https://a\nb", "fd::17"})
    EXPECT_FALSE(check_repository(address)) << address;
}

class CodeTreeTest : public ::testing::Test {
 protected:
  CodeTreeTest() {
    std::string name = (fs::temp_directory_path() / "corral-rerun-XXXXXX").string();
    base_ = ::mkdtemp(name.data());
    fs::create_directory(root());
    fs::create_directory(base_ / "outside");
  }
  ~CodeTreeTest() override { fs::remove_all(base_); }

  [[nodiscard]] fs::path root() const { return base_ / "new"; }
  [[nodiscard]] CodeTree tree() const { return CodeTree::open(root()).value(); }
  // The list says `content`, the server sends `sent`.
  Result<> write(const std::string& path, const std::string& content, const std::string& sent) {
    const KeptFile file{.path = path,
                        .sha256 = fmt::format("{:02x}", fmt::join(sha256(content), "")),
                        .bytes = static_cast<std::int64_t>(content.size()),
                        .executable = path.ends_with(".sh")};
    return tree().write(file, [&](const auto& take) -> Result<> {
      static_cast<void>(take(sent));
      return {};
    });
  }
  Result<> write(const std::string& path, const std::string& content) {
    return write(path, content, content);
  }

  fs::path base_;
};

TEST_F(CodeTreeTest, WritesWithModesAndReplaces) {
  std::ofstream(root() / "train.py") << "old and longer";
  ASSERT_TRUE(write("train.py", "print(1)"));
  ASSERT_TRUE(write("deep/er/go.sh", "exit"));
  EXPECT_EQ(sys::read_file(root() / "train.py"), "print(1)");
  EXPECT_EQ(fs::status(root() / "train.py").permissions() & fs::perms(0111), fs::perms::none);
  EXPECT_NE(fs::status(root() / "deep/er/go.sh").permissions() & fs::perms::owner_exec,
            fs::perms::none);
  EXPECT_TRUE(tree().remove("train.py"));
  EXPECT_TRUE(tree().remove("train.py"));
  EXPECT_TRUE(tree().remove("deep"));
  EXPECT_TRUE(tree().remove("nothing/here"));
  EXPECT_FALSE(fs::exists(root() / "train.py"));
  EXPECT_TRUE(fs::exists(root() / "deep/er/go.sh"));
}

TEST_F(CodeTreeTest, BytesThatAreNotThoseOfTheHashAreRefused) {
  for (const char* sent : {"print(2)", "print(1) and more", "print(", ""}) {
    const auto written = write("train.py", "print(1)", sent);
    ASSERT_FALSE(written) << sent;
    EXPECT_EQ(written.error().code, Code::kCorruption) << sent;
  }
}

TEST_F(CodeTreeTest, NeverWritesBehindALink) {
  std::ofstream(base_ / "outside" / "keep") << "keep";
  fs::create_directory_symlink(base_ / "outside", root() / "link");
  fs::create_symlink(base_ / "outside" / "keep", root() / "file");
  EXPECT_FALSE(write("link/new", "x"));
  EXPECT_FALSE(tree().make_directory("link/sub"));
  EXPECT_TRUE(tree().remove("link/keep"));  // not there for it
  EXPECT_TRUE(write("file", "x"));          // the link itself is replaced
  EXPECT_EQ(sys::read_file(base_ / "outside" / "keep"), "keep");
  EXPECT_EQ(std::distance(fs::directory_iterator(base_ / "outside"), {}), 1);
  EXPECT_FALSE(write("../outside/x", "x"));
  EXPECT_FALSE(write(".git/hooks/post-checkout", "x"));
  EXPECT_FALSE(fs::exists(root() / ".git"));
}

TEST_F(CodeTreeTest, GitRunsNoHookAndTakesTheSourceThatHasTheCommit) {
  const fs::path other = base_ / "outside" / "empty", repository = base_ / "outside" / "proj";
  const std::string git = "git -c user.name=a -c user.email=a@b -C '" + repository.string() + "' ";
  ASSERT_EQ(std::system(("git init -q '" + other.string() + "'").c_str()), 0);
  ASSERT_EQ(std::system(("git init -q '" + repository.string() + "'").c_str()), 0);
  std::ofstream(repository / "train.py") << "print(1)";
  const std::string commit = git + "add -A && " + git + "commit -qm one && " + git +
                             "rev-parse HEAD > '" + (base_ / "commit").string() + "'";
  ASSERT_EQ(std::system(commit.c_str()), 0);
  const std::string id = sys::read_file(base_ / "commit").value().substr(0, 40);
  // Hooks of the user's own configuration and of its template.
  const fs::path hooks = base_ / "home" / "template" / "hooks", ran = base_ / "hook-ran";
  fs::create_directories(hooks);
  std::ofstream(hooks / "post-checkout") << "#!/bin/sh\ntouch '" << ran.string() << "'\n";
  fs::permissions(hooks / "post-checkout", fs::perms::owner_all);
  std::ofstream(base_ / "home" / "config")
      << "[core]\nhooksPath = " << hooks.string()
      << "\n[init]\ntemplateDir = " << hooks.parent_path().string() << "\n";
  ::setenv("GIT_CONFIG_GLOBAL", (base_ / "home" / "config").c_str(), 1);
  const environment::PrepareOptions options{
      .directory = root(), .cache = {}, .progress = {}, .cancelled = {}};
  const auto missing =
      check_out({.commit = id, .sources = {other.string()}, .directory = root()}, options);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("--repository"), std::string::npos);
  const auto found = check_out({.commit = id,
                                .sources = {"ext::sh -c true", other.string(), repository.string()},
                                .directory = root()},
                               options);
  ASSERT_TRUE(found) << found.error().message;
  ::unsetenv("GIT_CONFIG_GLOBAL");
  EXPECT_FALSE(fs::exists(ran));
  EXPECT_FALSE(fs::exists(root() / ".git" / "hooks"));
  EXPECT_EQ(*found, repository.string());
  EXPECT_EQ(sys::read_file(root() / "train.py"), "print(1)");
}

}  // namespace
}  // namespace corral::cli
