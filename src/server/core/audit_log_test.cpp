// Tests the copy of the audit in a file, over a real store.
#include "server/core/audit_log.h"

#include <fcntl.h>

#include <fstream>
#include <string>
#include <vector>

#include "server/core/test_handlers.h"
#include "store/tables/audit.h"
#include "sys/file.h"

namespace corral::server {
namespace {

namespace audit = store::audit;

class AuditLogTest : public HandlerTest {
 protected:
  // Returns the id; a negative status: it has none yet.
  std::int64_t enter(const std::string& request, int status, std::int64_t second = 0) {
    const auto add = [&](store::Writing& writing) -> Result<std::int64_t> {
      const std::int64_t id = TRY(audit::begin(writing, {.time = at(second),
                                                         .user = "ada",
                                                         .address = "10.0.0.7",
                                                         .request = request,
                                                         .detail = "\"\n\x01"}));
      if (status >= 0) TRY(audit::end(writing, id, status));
      return id;
    };
    return corral::server::commit(*store_, add).value();
  }
  void end(std::int64_t id, int status) {
    ASSERT_TRUE(
        store_->change([&](store::Writing& writing) { return audit::end(writing, id, status); }));
  }
  static UtcTime at(std::int64_t second) { return utc_time(second * 1'000'000'000); }
  std::unique_ptr<AuditLog> open() {
    auto log = AuditLog::open(file_, directory_ / "position");
    EXPECT_TRUE(log) << log.error().message;
    return *std::move(log);
  }
  void copy(AuditLog& log, std::int64_t second = 0) {
    const auto done = log.copy(context_->reader, at(second));
    EXPECT_TRUE(done) << done.error().message;
  }
  // The requests of its lines; a line that is no JSON counts as itself.
  std::vector<std::string> lines() {
    std::vector<std::string> found;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      const auto json = Json::parse(line);
      found.push_back(json ? json->get_string("request") : line);
    }
    return found;
  }
  using Lines = std::vector<std::string>;

  const std::filesystem::path file_ = directory_ / "audit.log";
};

TEST_F(AuditLogTest, HasEachEntryOnceItIsAnswered) {
  const auto log = open();
  copy(*log);
  EXPECT_EQ(lines(), Lines{});
  enter("one", 200);
  const std::int64_t open_entry = enter("two", -1);
  enter("three", 403);
  copy(*log);
  EXPECT_EQ(lines(), Lines{"one"}) << "those after an open one wait";
  end(open_entry, 404);
  copy(*log);
  copy(*log);
  EXPECT_EQ(lines(), (Lines{"one", "two", "three"}));
  std::ifstream in(file_);
  std::string first;
  std::getline(in, first);
  const Json json = Json::parse(first).value();
  EXPECT_EQ(json.get_int("id"), 1);
  EXPECT_EQ(json.get_int("status"), 200);
  EXPECT_EQ(json.get_string("user"), "ada");
  EXPECT_EQ(json.get_string("address"), "10.0.0.7");
  EXPECT_EQ(json.get_string("detail"), "\"\n\x01");
  EXPECT_EQ(json.get_string("time"), "1970-01-01T00:00:00.000Z");
}

TEST_F(AuditLogTest, DoesNotWaitForeverForAnAnswer) {
  const auto log = open();
  enter("cut off", -1, 100);
  enter("later", 200, 101);
  copy(*log, 159);
  EXPECT_EQ(lines(), Lines{});
  copy(*log, 160);
  EXPECT_EQ(lines(), (Lines{"cut off", "later"}));
}

TEST_F(AuditLogTest, GoesOnWhereItWas) {
  for (int i = 0; i < 250; ++i) enter(std::to_string(i), 200);
  copy(*open());
  EXPECT_EQ(lines().size(), 250U);
  enter("next", 200);
  copy(*open());
  EXPECT_EQ(lines().size(), 251U);
  EXPECT_EQ(lines().back(), "next");
  std::filesystem::remove(file_);
  enter("rotated", 200);
  copy(*open());
  EXPECT_EQ(lines(), Lines{"rotated"});
}

// Killed between the line and its position, or within the line.
TEST_F(AuditLogTest, RepeatsWhatMayBeMissing) {
  enter("one", 200);
  copy(*open());
  ASSERT_TRUE(sys::replace_file(directory_ / "position", "0\n"));
  std::ofstream(file_, std::ios::app) << R"({"id":"2","re)";
  copy(*open());
  EXPECT_EQ(lines(), (Lines{"one", R"({"id":"2","re)", "one"}));
}

TEST_F(AuditLogTest, ABackupThatIsPutBackCountsAnew) {
  enter("one", 200);
  ASSERT_TRUE(sys::replace_file(directory_ / "position", "1000\n"));
  copy(*open());
  EXPECT_EQ(lines(), Lines{"one"});
}

TEST_F(AuditLogTest, AFullDiskLosesNothing) {
  enter("one", 200);
  auto full = AuditLog::open("/dev/full", directory_ / "position");
  ASSERT_TRUE(full);
  const auto refused = (*full)->copy(context_->reader, at(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNoSpace);
  copy(*open());
  EXPECT_EQ(lines(), Lines{"one"});
}

TEST_F(AuditLogTest, IsNoFileOfSomebodyElsesChoice) {
  std::ofstream(directory_ / "target") << "x";
  std::filesystem::create_symlink(directory_ / "target", file_);
  EXPECT_FALSE(AuditLog::open(file_, directory_ / "position"));
  ASSERT_TRUE(sys::replace_file(directory_ / "position", "soon\n"));
  EXPECT_FALSE(AuditLog::open(directory_ / "new", directory_ / "position"));
}

}  // namespace
}  // namespace corral::server
