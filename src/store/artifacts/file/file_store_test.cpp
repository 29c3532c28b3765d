#include "store/artifacts/file/file_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "store/artifacts/file/tree.h"
#include "sys/file.h"

namespace corral::store::artifacts {
namespace {

namespace fs = std::filesystem;

class FileStore : public ::testing::Test {
 protected:
  FileStore() {
    std::string name = (fs::temp_directory_path() / "corral-artifacts-XXXXXX").string();
    base_ = ::mkdtemp(name.data());
    root_ = base_ / "root";
    store_ = open_file_store(root_).value();
  }
  ~FileStore() override { fs::remove_all(base_); }

  Result<> put(std::string_view path, std::string_view content) {
    auto writer = TRY(store_->create(path, content.size()));
    TRY(writer->append(content));
    return writer->commit();
  }
  Result<std::string> get(std::string_view path, ByteRange range = {}) {
    auto reader = TRY(store_->open(path));
    std::string content;
    TRY(reader->read(range, [&](std::string_view piece) {
      content.append(piece);
      return true;
    }));
    return content;
  }
  std::vector<std::string> names(std::string_view path) {
    std::vector<std::string> names;
    const std::vector<Entry> entries = store_->list(path).value();
    for (const Entry& entry : entries)
      names.push_back(entry.name + (entry.is_dir ? "/" : "=" + std::to_string(entry.size)));
    return names;
  }
  Code code_of_get(std::string_view path) { return get(path).error().code; }
  [[nodiscard]] bool no_upload_left() const { return fs::is_empty(root_ / ".corral-uploads"); }
  static std::string code(std::string_view run, std::string_view file) {
    return fmt::format("1/{}/artifacts/corral/code/{}", run, file);
  }
  [[nodiscard]] ino_t inode_of(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::stat((root_ / path).c_str(), &info), 0) << path;
    return info.st_ino;
  }
  [[nodiscard]] std::vector<fs::path> contents() const {
    std::vector<fs::path> found;
    if (!fs::exists(root_ / ".corral-content")) return found;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / ".corral-content"))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  fs::path base_;
  fs::path root_;
  std::unique_ptr<ArtifactStore> store_;
};

using Names = std::vector<std::string>;

TEST_F(FileStore, WhatWasWrittenIsReadAndListed) {
  ASSERT_TRUE(put("1/run/artifacts/model/MLmodel", "flavors"));
  ASSERT_TRUE(put("1/run/artifacts/model/data/weights.bin", std::string(700'001, 'w')));
  ASSERT_TRUE(put("1/run/artifacts/empty", ""));
  EXPECT_EQ(get("1/run/artifacts/model/MLmodel"), "flavors");
  EXPECT_EQ(get("1/run/artifacts/model/data/weights.bin")->size(), 700'001);
  EXPECT_EQ(get("1/run/artifacts/empty"), "");
  EXPECT_EQ(names(""), (Names{"1/"}));
  EXPECT_EQ(names("1/run/artifacts"), (Names{"empty=0", "model/"}));
  EXPECT_EQ(names("1/run/artifacts/model"), (Names{"MLmodel=7", "data/"}));
  EXPECT_EQ(names("nothing/here"), Names());
  EXPECT_EQ(names("1/run/artifacts/empty"), Names());
  EXPECT_TRUE(no_upload_left());
}

TEST_F(FileStore, Ranges) {
  ASSERT_TRUE(put("f", "0123456789"));
  EXPECT_EQ(get("f", {.offset = 3, .length = 4}), "3456");
  EXPECT_EQ(get("f", {.offset = 8, .length = 100}), "89");
  EXPECT_EQ(get("f", {.offset = 10}), "");
  EXPECT_EQ(get("f", {.offset = UINT64_MAX, .length = UINT64_MAX}), "");
  EXPECT_EQ(store_->open("f").value()->size(), 10);
}

TEST_F(FileStore, AReaderKeepsItsVersionAndMayStop) {
  ASSERT_TRUE(put("f", std::string(1'000'000, 'a')));
  auto reader = store_->open("f").value();
  ASSERT_TRUE(put("f", "new"));
  ASSERT_TRUE(store_->remove("f"));
  std::size_t seen = 0;
  EXPECT_TRUE(reader->read({}, [&](std::string_view piece) {
    seen += piece.size();
    return false;
  }));
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, 1'000'000);
}

TEST_F(FileStore, NothingShowsBeforeCommitNorRemainsWithoutIt) {
  {
    auto writer = store_->create("dir/f", std::nullopt).value();
    ASSERT_TRUE(writer->append("half"));
    EXPECT_EQ(names(""), Names());
    EXPECT_FALSE(no_upload_left());
  }
  EXPECT_EQ(names(""), Names());
  EXPECT_TRUE(no_upload_left());
}

TEST_F(FileStore, ThatWasDeletedAsksForAnotherTry) {
  auto writer = store_->create("a/b", 1).value();
  ASSERT_TRUE(writer->append("x"));
  fs::remove_all(root_);
  EXPECT_EQ(writer->commit().error().code, Code::kUnavailable);
  EXPECT_EQ(put("c", "y").error().code, Code::kUnavailable);
  EXPECT_EQ(code_of_get("a/b"), Code::kNotFound);
}

// `rm -rf` of a store takes the folders one by one while files arrive. None of them is refused for
// good.
TEST_F(FileStore, FoldersThatAreDeletedMeanwhileAskForAnotherTry) {
  const std::jthread deleting([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::error_code ignored;
      fs::remove_all(root_ / "1", ignored);
    }
  });
  int stored = 0, again = 0;
  for (int i = 0; i < 20'000 && (i < 100 || again < 5); ++i) {
    const Result<> result = put("1/2/3/4/5/6/file", "x");
    stored += result ? 1 : 0;
    again += !result && result.error().code == Code::kUnavailable ? 1 : 0;
    ASSERT_EQ(stored + again, i + 1) << result.error().message;
  }
  EXPECT_GT(again, 0);
}

TEST_F(FileStore, ReplacesAFileAtOnce) {
  ASSERT_TRUE(put("f", "old"));
  auto writer = store_->create("f", std::nullopt).value();
  ASSERT_TRUE(writer->append("new and longer"));
  EXPECT_EQ(get("f"), "old");
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(get("f"), "new and longer");
}

TEST_F(FileStore, FilesAndDirectoriesDoNotTurnIntoEachOther) {
  ASSERT_TRUE(put("dir/f", "x"));
  EXPECT_EQ(put("dir", "y").error().code, Code::kInvalidArgument);
  EXPECT_EQ(put("dir/f/g", "y").error().code, Code::kInvalidArgument);
  EXPECT_EQ(code_of_get("dir"), Code::kNotFound);
  EXPECT_EQ(get("dir/f"), "x");
  EXPECT_TRUE(no_upload_left());
}

TEST_F(FileStore, Removes) {
  ASSERT_TRUE(put("a/b/c", "1"));
  ASSERT_TRUE(put("a/b/d/e", "2"));
  ASSERT_TRUE(put("a/f", "3"));
  EXPECT_TRUE(store_->remove("a/f"));
  EXPECT_TRUE(store_->remove("a/f"));
  EXPECT_TRUE(store_->remove("no/such/path"));
  EXPECT_TRUE(store_->remove("a/b/c/below-a-file"));
  EXPECT_EQ(get("a/b/c"), "1");
  EXPECT_TRUE(store_->remove("a/b"));
  EXPECT_EQ(names("a"), Names());
  EXPECT_EQ(store_->remove("").error().code, Code::kInvalidArgument);
}

TEST_F(FileStore, RefusesPathsThatLeadOut) {
  for (const char* path :
       {"../x", "a/../../x", "/etc/passwd", "a//b", "a\\..\\b", ".corral-uploads",
        ".corral-uploads/x", ".corral-content", ".corral-content/ab/x"}) {
    EXPECT_EQ(put(path, "x").error().code, Code::kInvalidArgument) << path;
    EXPECT_EQ(code_of_get(path), Code::kInvalidArgument) << path;
    EXPECT_EQ(store_->list(path).error().code, Code::kInvalidArgument) << path;
    EXPECT_EQ(store_->remove(path).error().code, Code::kInvalidArgument) << path;
  }
}

TEST_F(FileStore, NeverFollowsALink) {
  const fs::path outside = base_ / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "secret") << "secret";
  ASSERT_TRUE(put("real/f", "inside"));
  fs::create_symlink(outside, root_ / "out");
  fs::create_symlink(outside / "secret", root_ / "file");
  fs::create_symlink("real", root_ / "beside");
  fs::create_symlink("/proc/self/fd", root_ / "magic");
  EXPECT_EQ(names(""), (Names{"real/"}));
  for (const char* path : {"out/secret", "file", "beside/f", "magic/0"})
    EXPECT_EQ(code_of_get(path), Code::kPermission) << path;
  EXPECT_EQ(store_->list("out").error().code, Code::kPermission);
  EXPECT_EQ(put("out/new", "x").error().code, Code::kPermission);
  EXPECT_EQ(store_->remove("out/secret").error().code, Code::kPermission);
  // The link itself is a name like any other: replaced and removed, its target untouched.
  EXPECT_TRUE(put("file", "replaced"));
  EXPECT_TRUE(store_->remove("out"));
  EXPECT_TRUE(store_->remove("beside"));
  EXPECT_EQ(sys::read_file(outside / "secret"), "secret");
  EXPECT_EQ(get("real/f"), "inside");
  EXPECT_FALSE(fs::exists(outside / "new"));
}

// A directory that becomes a link while it is used, again and again: never a byte from outside.
TEST_F(FileStore, ALinkThatComesAndGoesIsNeverFollowed) {
  const fs::path outside = base_ / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "f") << "outside";
  ASSERT_TRUE(put("dir/f", "inside"));
  fs::create_symlink(outside, root_ / "link");
  const sys::Fd root = sys::open_file(root_, O_RDONLY | O_DIRECTORY).value();
  std::jthread swapper([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      ::renameat2(root.get(), "dir", root.get(), "link", RENAME_EXCHANGE);
  });
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto content = get("dir/f");
    if (content) {
      EXPECT_EQ(*content, "inside");
      ++read;
    }
    if (i % 100 == 0) [[maybe_unused]]
      const auto done = put("dir/new", "x");
  }
  EXPECT_GT(read, 0);
  EXPECT_FALSE(fs::exists(outside / "new"));
}

TEST_F(FileStore, AFifoDoesNotHoldAThread) {
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of_get("fifo"), Code::kNotFound);
  EXPECT_EQ(names(""), Names());
}

TEST_F(FileStore, RemovesLeftOversButNotUploadsThatGoOn) {
  auto writer = store_->create("f", std::nullopt).value();
  ASSERT_TRUE(writer->append("goes on"));
  std::ofstream(root_ / ".corral-uploads" / "dead") << "left by a process that died";
  const auto second = open_file_store(root_).value();
  EXPECT_FALSE(fs::exists(root_ / ".corral-uploads" / "dead"));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(get("f"), "goes on");
}

TEST_F(FileStore, WhatCannotFitIsRefusedAtOnce) {
  EXPECT_EQ(store_->create("f", std::uint64_t{1} << 60).error().code, Code::kNoSpace);
  EXPECT_TRUE(no_upload_left());
}

TEST_F(FileStore, AFullDiskLeavesNothing) {
  const fs::path small = base_ / "small";
  fs::create_directory(small);
  if (::mount("corral-test", small.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "this environment allows no mounts";
  {
    const auto store = open_file_store(small / "artifacts").value();
    auto writer = store->create("f", std::nullopt).value();
    Result<> written;
    const std::string piece(100'000, 'x');
    for (int i = 0; i < 20 && written; ++i) written = writer->append(piece);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Code::kNoSpace);
    EXPECT_TRUE(fs::is_empty(small / "artifacts" / ".corral-uploads"));
    auto again = store->create("g", 1000).value();
    EXPECT_TRUE(again->append("room again"));
    EXPECT_TRUE(again->commit());
  }
  ::umount2(small.c_str(), MNT_DETACH);
}

TEST_F(FileStore, MultipartIsNotForDirectories) {
  const auto upload = store_->create_multipart("f", 3);
  ASSERT_FALSE(upload);
  EXPECT_EQ(upload.error().code, Code::kUnsupported);
  EXPECT_EQ(upload.error().message,
            "Multipart upload is not supported for the current artifact repository");
}

TEST_F(FileStore, KeptCodeOfEqualContentIsThereOnceUntilItsLastRunIsRemoved) {
  ASSERT_TRUE(put(code("a", "train.py"), "print(1)"));
  ASSERT_TRUE(put(code("b", "sub/train.py"), "print(1)"));
  ASSERT_TRUE(put(code("b", "other.py"), "print(2)"));
  ASSERT_TRUE(put("1/a/artifacts/model/train.py", "print(1)"));
  ASSERT_TRUE(put("1/a/artifacts/corral/together", "print(1)"));
  EXPECT_EQ(inode_of(code("a", "train.py")), inode_of("1/a/artifacts/corral/together"));
  EXPECT_EQ(inode_of(code("a", "train.py")), inode_of(code("b", "sub/train.py")));
  EXPECT_NE(inode_of(code("a", "train.py")), inode_of("1/a/artifacts/model/train.py"));
  EXPECT_EQ(contents().size(), 2);
  EXPECT_EQ(names(""), (Names{"1/"}));
  EXPECT_TRUE(no_upload_left());
  EXPECT_TRUE(store_->remove("1/a"));
  EXPECT_EQ(get(code("b", "sub/train.py")), "print(1)");
  EXPECT_EQ(contents().size(), 2);
  EXPECT_TRUE(store_->remove("1/b/artifacts"));
  EXPECT_EQ(contents().size(), 0);
}

TEST_F(FileStore, ReplacingKeptCodeChangesNoOtherRun) {
  ASSERT_TRUE(put(code("a", "f"), "old"));
  ASSERT_TRUE(put(code("b", "f"), "old"));
  ASSERT_TRUE(put(code("b", "f"), "new"));
  EXPECT_EQ(get(code("a", "f")), "old");
  EXPECT_EQ(get(code("b", "f")), "new");
  ASSERT_TRUE(put(code("b", "f"), "new"));  // the same again: a rename of a file to itself
  EXPECT_EQ(get(code("b", "f")), "new");
  EXPECT_TRUE(no_upload_left());
  ASSERT_TRUE(put(code("a", "f"), "new"));  // nobody has the old content any more
  EXPECT_EQ(contents().size(), 1);
  EXPECT_EQ(inode_of(code("a", "f")), inode_of(code("b", "f")));
}

TEST_F(FileStore, ContentThatNoRunHasGoesWhenTheStoreIsOpened) {
  ASSERT_TRUE(put(code("a", "f"), "used"));
  const fs::path unused = contents().at(0).parent_path() / std::string(64, 'a');
  std::ofstream(unused) << "left by a process that died";
  store_ = open_file_store(root_).value();
  EXPECT_FALSE(fs::exists(unused));
  EXPECT_EQ(contents().size(), 1);
  EXPECT_EQ(get(code("a", "f")), "used");
}

TEST_F(FileStore, ADamagedContentIsNotShared) {
  ASSERT_TRUE(put(code("a", "f"), "whole"));
  fs::resize_file(contents().at(0), 2);
  ASSERT_TRUE(put(code("b", "f"), "whole"));
  EXPECT_EQ(get(code("b", "f")), "whole");
  std::ofstream(contents().at(0)) << "wrong";  // the same size
  ASSERT_TRUE(put(code("c", "f"), "whole"));
  EXPECT_EQ(get(code("c", "f")), "whole");
}

TEST_F(FileStore, KeptCodeOfManyRunsAtOnceStaysWhole) {
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string run = fmt::format("run{}-{}", thread, i);
        EXPECT_TRUE(put(code(run, "f"), "the same"));
        EXPECT_EQ(get(code(run, "f")), "the same");
        EXPECT_TRUE(store_->remove("1/" + run));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(contents().size(), 0);
}

TEST_F(FileStore, ASourceIsOnlyRead) {
  ASSERT_TRUE(put("a/one", "1"));
  ASSERT_TRUE(put(code("a", "f"), "kept"));
  fs::remove_all(root_ / kUploads);
  std::ofstream(contents().at(0).parent_path() / "unused") << "stays: it is somebody else's";
  const auto before = fs::last_write_time(root_);
  const auto source = open_file_source(root_).value();
  EXPECT_EQ(source->list("a").value().size(), 1U);
  EXPECT_EQ(source->open("a/one").value()->size(), 1U);
  EXPECT_EQ(source->create("b", 1).error().code, Code::kPermission);
  EXPECT_EQ(source->remove("a").error().code, Code::kPermission);
  EXPECT_FALSE(fs::exists(root_ / kUploads));
  EXPECT_EQ(source->list("").value().size(), 2U);
  EXPECT_EQ(contents().size(), 2);
  EXPECT_EQ(fs::last_write_time(root_), before);
  EXPECT_EQ(open_file_source(root_ / "none").error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(root_ / "none"));
}

}  // namespace
}  // namespace corral::store::artifacts
