#include "store/open/sqlite_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <bit>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>

#include "store/conformance/conformance_hosts.h"
#include "store/conformance/conformance_members.h"
#include "store/conformance/conformance_remove.h"
#include "store/engine/readers.h"
#include "store/engine/sqlite/database.h"
#include "sys/fd.h"

namespace corral::store {
namespace {

namespace fs = std::filesystem;
using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;

class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(fs::temp_directory_path() / ("corral-store-" + SessionId::random().hex())) {
    fs::create_directory(path_);
  }
  ~TemporaryDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A tmpfs of the given size, when this process may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* options) {
    mounted_ = ::mount("corral-test", at_.path().c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const fs::path& path() const { return at_.path(); }

 private:
  TemporaryDirectory at_;
  bool mounted_ = false;
};

class SqlitePlace final : public StorePlace {
 public:
  Result<std::unique_ptr<Store>> open() override {
    return open_sqlite_store({.directory = directory_.path() / "store"});
  }

 private:
  TemporaryDirectory directory_;
};

std::unique_ptr<StorePlace> sqlite_place() { return std::make_unique<SqlitePlace>(); }

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, all_sealings(&sqlite_place));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreLevels, all_sealings(&sqlite_place));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreRemoval, all_sealings(&sqlite_place));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreHosts, all_sealings(&sqlite_place));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreMembers, all_sealings(&sqlite_place));

Error open_error(const fs::path& directory) {
  const auto store = open_sqlite_store({.directory = directory});
  EXPECT_FALSE(store);
  return store ? Error{} : store.error();
}

void sql(const fs::path& file, const std::string& text) {
  auto database = sqlite::open_database(file, sqlite::Mode::kReadWrite);
  ASSERT_TRUE(database);
  const auto done = (*database)->script(text);
  ASSERT_TRUE(done) << done.error().message;
}

TEST(SqliteStore, RefusesANewerSchema) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(open_sqlite_store({.directory = directory.path()}));
  sql(directory.path() / "corral.db", "UPDATE meta SET value = 77 WHERE key = 'schema_version'");
  const Error error = open_error(directory.path());
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_NE(error.message.find("written by a newer Corral (schema 77, this one knows"),
            std::string::npos)
      << error.message;
}

TEST(SqliteStore, LeavesAnotherProgramsDatabaseAlone) {
  const TemporaryDirectory directory;
  sql(directory.path() / "corral.db", "CREATE TABLE theirs (x)");
  EXPECT_EQ(open_error(directory.path()).code, Code::kUnsupported);
  sql(directory.path() / "corral.db", "INSERT INTO theirs VALUES (1)");
}

TEST(SqliteStore, NamesACorruptDatabase) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "corral.db") << std::string(8192, 'x');
  const Error error = open_error(directory.path());
  EXPECT_EQ(error.code, Code::kCorruption);
  EXPECT_NE(error.message.find("corral.db"), std::string::npos) << error.message;
}

TEST(SqliteStore, NamesAnUnusableDirectory) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "file") << "x";
  const Error error = open_error(directory.path() / "file" / "store");
  EXPECT_NE(error.message.find((directory.path() / "file").string()), std::string::npos)
      << error.message;
  const SmallDisk disk("size=1m,ro");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  EXPECT_EQ(open_error(disk.path()).code, Code::kPermission);
}

TEST(SqliteStore, SyncsEveryCommit) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(open_sqlite_store({.directory = directory.path()}));
  auto database = sqlite::open_database(directory.path() / "corral.db", sqlite::Mode::kReadWrite);
  ASSERT_TRUE(database);
  EXPECT_EQ(*(*database)->number("PRAGMA synchronous"), 2);
  auto mode = (*database)->query("PRAGMA journal_mode");
  ASSERT_TRUE(*mode->step());
  EXPECT_EQ(mode->text(0), "wal");
  EXPECT_EQ(fs::status(directory.path() / "corral.db").permissions() & fs::perms::others_all,
            fs::perms::none);
}

TEST(SqliteStore, AFullDiskLosesNothingAndIsGotOver) {
  const SmallDisk disk("size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  auto store = open_sqlite_store({.directory = disk.path()});
  ASSERT_TRUE(store) << store.error().message;
  const RunId run = RunId::random();
  SessionWriter writer;
  ASSERT_TRUE((*store)->append(
      std::vector{writer.frame(session_body(run)),
                  writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})}));

  std::mt19937_64 random(1);  // values that do not compress
  const auto next_frame = [&] {
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::int64_t i = 0; i < 4000; ++i)
      points.emplace_back(2000 + i, std::bit_cast<double>(random() >> 2));
    return writer.frame(samples(1, points));
  };
  Result<AppendResult> result;
  codec::Frame last;
  std::int64_t stored = 0;
  for (int i = 0; i < 200; ++i) {
    last = next_frame();
    result = (*store)->append(std::vector{last});
    if (!result) break;
    ++stored;
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kNoSpace) << result.error().message;
  EXPECT_EQ((*(*store)->session(writer.id()))->durable_seq, static_cast<std::uint64_t>(stored) + 2);
  EXPECT_FALSE((*store)->append(std::vector{last}));

  ASSERT_EQ(::mount("corral-test", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=32m"), 0);
  result = (*store)->append(std::vector{last});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->refusals.empty());
  const auto series = reader_of(**store).series_of(run);
  ASSERT_TRUE(series);
  EXPECT_EQ(series->at(0).points, (stored + 1) * 4000);
}

// ---- kill -9: a process appends and tells through a pipe what was acknowledged.
struct AckRecord {
  SessionId session;
  std::uint64_t durable_seq;
};

[[noreturn]] void append_until_killed(const fs::path& directory, RunId run, int pipe) {
  auto store = open_sqlite_store({.directory = directory});
  if (!store) ::_exit(1);
  SessionWriter writer;
  const auto send = [&](const std::vector<codec::Frame>& frames) {
    const auto result = (*store)->append(frames);
    if (!result || !result->refusals.empty()) ::_exit(2);
    const AckRecord record{result->acks.at(0).session, result->acks.at(0).durable_seq};
    if (::write(pipe, &record, sizeof record) != sizeof record) ::_exit(3);
  };
  send({writer.frame(session_body(run)),
        writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
  for (std::int64_t i = 0;; ++i)
    send(
        {writer.frame(samples(1, {{2000 + i, 1.0}})), writer.frame(samples(1, {{2000 + i, 1.0}}))});
}

// The last acknowledgement of one victim, killed after a random time.
AckRecord kill_one(const fs::path& directory, RunId run, unsigned wait_us) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    append_until_killed(directory, run, ends[1]);
  }
  const sys::Fd read_end(ends[0]);
  ::close(ends[1]);
  AckRecord last{};
  EXPECT_EQ(::read(read_end.get(), &last, sizeof last), static_cast<ssize_t>(sizeof last))
      << "the victim came to its first append";
  ::usleep(wait_us);
  ::kill(child, SIGKILL);
  AckRecord next{};
  while (::read(read_end.get(), &next, sizeof next) == static_cast<ssize_t>(sizeof next))
    last = next;
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  return last;
}

TEST(SqliteStore, KillAtAnyInstantLosesNoAcknowledgedBatch) {
  const TemporaryDirectory directory;
  const RunId run = RunId::random();
  std::minstd_rand random(7);
  std::uint64_t batches = 0;
  for (int round = 0; round < 20; ++round) {
    const AckRecord acked =
        kill_one(directory.path(), run, static_cast<unsigned>(random() % 20'000));
    const auto store = open_sqlite_store({.directory = directory.path()});
    ASSERT_TRUE(store) << store.error().message;
    const auto durable = (*store)->session(acked.session);
    ASSERT_TRUE(durable && *durable);
    EXPECT_GE((*durable)->durable_seq, acked.durable_seq);
    EXPECT_EQ((*durable)->durable_seq % 2, 0U) << "a call is stored whole";
    batches += (*durable)->durable_seq - 2;
    std::uint64_t points = 0;
    const SeriesId x = reader_of(**store).series_of(run)->at(0).id;
    ASSERT_TRUE(reader_of(**store).view(std::array{x}, [&](PointView& view) -> Result<> {
      for (const Chunk& chunk : view.recent(x)) points += chunk.values.size();
      return {};
    }));
    EXPECT_EQ(points, batches) << "each number once";
    EXPECT_EQ(reader_of(**store).series_of(run)->at(0).points, static_cast<std::int64_t>(batches));
  }
  auto database = sqlite::open_database(directory.path() / "corral.db", sqlite::Mode::kReadOnly);
  auto check = (*database)->query("PRAGMA integrity_check");
  ASSERT_TRUE(*check->step());
  EXPECT_EQ(check->text(0), "ok");
}

// ---- files that lose their names
// A store with a lock, and a session in it.
struct LockedStore {
  explicit LockedStore(const fs::path& directory) : place(directory) {
    fs::create_directories(directory);
    std::ofstream(directory / "server.lock") << "";
    store = open_sqlite_store({.directory = directory, .lock = directory / "server.lock"}).value();
    const auto begun = append(session_body(RunId::random()));
    EXPECT_TRUE(begun) << begun.error().message;
  }
  template <class Body>
  Result<AppendResult> append(const Body& body) {
    return store->append(std::array{writer.frame(body)});
  }
  [[nodiscard]] Result<AppendResult> append_one() {
    return append(codec::SchemaBody{.series = {series_def(1, "x")}});
  }

  fs::path place;
  std::unique_ptr<Store> store;
  SessionWriter writer;
};

TEST(SqliteStore, NothingIsAcknowledgedOnceAFileHasLostItsName) {
  using Lose = void (*)(const fs::path&);
  const auto ways = std::to_array<std::pair<const char*, Lose>>(
      {{"deleted", [](const fs::path& d) { fs::remove_all(d); }},
       {"moved", [](const fs::path& d) { fs::rename(d, d.string() + "-moved"); }},
       {"replaced",
        [](const fs::path& d) {
          fs::copy_file(d / "corral.db", d / "copy");
          fs::rename(d / "copy", d / "corral.db");
        }},
       {"without its log", [](const fs::path& d) { fs::remove(d / "corral.db-wal"); }},
       {"without its lock", [](const fs::path& d) { fs::remove(d / "server.lock"); }}});
  for (const auto& [way, lose] : ways) {
    const TemporaryDirectory directory;
    LockedStore locked(directory.path() / "store");
    ASSERT_TRUE(locked.append_one()) << way;
    ASSERT_TRUE(locked.store->intact()) << way;
    lose(locked.place);
    // The commit itself goes well: the descriptors are as good as ever.
    const auto refused = locked.append_one();
    ASSERT_FALSE(refused) << way;
    EXPECT_EQ(refused.error().code, Code::kUnavailable) << way;
    EXPECT_NE(refused.error().message.find(locked.place.string()), std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(locked.store->change([](sql::Connection&) { return Result<>(); })) << way;
    EXPECT_FALSE(locked.store->intact()) << way;
  }
}

// A reader that opened the new file would cut the memory under the writer: SIGBUS.
TEST(SqliteStore, ReadersOpenNoFileThatTookThePlaceOfTheStores) {
  for (int round = 0; round < 40; ++round) {
    const TemporaryDirectory directory;
    LockedStore locked(directory.path() / "store");
    std::vector<std::future<void>> readers;
    for (int i = 0; i < 4; ++i)
      readers.push_back(std::async(std::launch::async, [&] {
        for (int k = 0; k < 4; ++k) std::ignore = reader_of(*locked.store).runs({});
      }));
    fs::copy_file(locked.place / "corral.db", directory.path() / "copy");
    fs::rename(directory.path() / "copy", locked.place / "corral.db");
    for (int k = 0; k < 20; ++k) EXPECT_FALSE(locked.append_one());
  }
}

TEST(SqliteStore, ALostStoreLeavesItsSuccessorAlone) {
  const TemporaryDirectory directory;
  auto lost = std::make_unique<LockedStore>(directory.path() / "store");
  fs::rename(lost->place, directory.path() / "moved");
  EXPECT_FALSE(lost->append_one());
  LockedStore successor(directory.path() / "store");
  lost.reset();
  const auto stored = successor.append_one();
  EXPECT_TRUE(stored) << stored.error().message;
  // And the moved one is whole.
  const auto moved = open_sqlite_store({.directory = directory.path() / "moved"}).value();
  EXPECT_EQ(reader_of(*moved).runs({}).value().runs.size(), 1u);
}

TEST(Readers, WaitForOneAnotherWhereTheDatabaseLendsNoMoreConnections) {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / "some.db";
  ASSERT_TRUE(sqlite::open_database(file, sqlite::Mode::kReadWrite));
  std::promise<void> refused;
  int asked = 0;  // never by two at once
  sql::Readers readers(
      [&]() -> Result<std::unique_ptr<sql::Connection>> {
        if (++asked == 1) return sqlite::open_database(file, sqlite::Mode::kReadOnly);
        refused.set_value();
        return fail(Code::kUnavailable, "too many connections");
      },
      4);
  const auto seven = [](sql::Connection&) -> Result<int> { return 7; };
  std::future<Result<int>> second;
  const auto first = readers.with([&](sql::Connection&) -> Result<> {
    second = std::async(std::launch::async, [&] { return readers.with(seven); });
    refused.get_future().wait();
    return {};
  });
  EXPECT_TRUE(first);
  const Result<int> answer = second.get();
  EXPECT_EQ(answer.value_or(0), 7);
}

TEST(Readers, NobodyWaitsForADatabaseThatIsAway) {
  sql::Readers readers(
      []() -> Result<std::unique_ptr<sql::Connection>> { return fail(Code::kUnavailable, "away"); },
      4);
  const auto read = readers.with([](sql::Connection&) -> Result<> { return {}; });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "away");
}

}  // namespace
}  // namespace corral::store
