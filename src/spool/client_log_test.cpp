// Sessions of programs that log through the supervisor: what survives on disk, and who reads it.
#include "spool/client_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "spool/outbox.h"
#include "spool/test_spool.h"

namespace corral::spool {
namespace {

codec::SessionBody session_of(RunId run) {
  codec::SessionBody session;
  session.run = run;
  session.workload = own_workload_of(run);
  session.experiment = "default";
  session.run_name = "child";
  session.host = "here";
  session.role = "mlflow";
  return session;
}

codec::Bundle tag(const std::string& key) {
  codec::Bundle bundle;
  bundle.add(codec::FactsBody{{{.kind = codec::FactKind::kTag, .key = key, .value = "v"}}});
  return bundle;
}

TEST(ClientLog, IsFoundWithItsDescriptionAndFrames) {
  const TestDirectory directory;
  const RunId run = RunId::random();
  auto log = ClientLog::create(directory.files(), session_of(run), 1 << 20).value();
  log.bundle(tag("a"));
  ASSERT_EQ(client_logs(directory.files()), std::vector{log.session()});
  const StoredClientLog place = find_client_log(directory.files(), log.session()).value();
  EXPECT_EQ(place.description, session_of(run));
  EXPECT_EQ(FrameLogReader(place.files).last().value(), 2u);  // its description and the tag
  EXPECT_FALSE(is_closed(place));
  log.close();
  EXPECT_TRUE(is_closed(place));
  EXPECT_GT(client_log_bytes(directory.files()), 0);
}

TEST(ClientLog, WithoutAWholeDescriptionItHoldsNothing) {
  const TestDirectory directory;
  const SessionId session = SessionId::random();
  const fs::path path = directory.path() / "mlflow" / session.hex();
  ASSERT_TRUE(sys::make_directories(path));
  EXPECT_FALSE(find_client_log(directory.files(), session));
  ASSERT_TRUE(sys::replace_file(path / "session", "CRFR"));
  EXPECT_FALSE(find_client_log(directory.files(), session));
}

TEST(ClientLog, AFrameThatAKillCutShortIsRepairedAway) {
  const TestDirectory directory;
  auto log = ClientLog::create(directory.files(), session_of(RunId::random()), 1 << 20).value();
  log.bundle(tag("a"));
  log.bundle(tag("b"));
  const StoredClientLog place = find_client_log(directory.files(), log.session()).value();
  const fs::path file = place.files.path() / frame_file(1);
  ASSERT_EQ(::truncate(file.c_str(), static_cast<off_t>(fs::file_size(file)) - 3), 0);
  repair_client_logs(directory.files());
  EXPECT_EQ(FrameLogReader(place.files).last().value(), 2u);
  EXPECT_EQ(FrameLogReader(place.files).read(0, 1 << 20).value().size(), 2u);
}

TEST(ClientLog, WhatDoesNotFitIsCountedAndSaid) {
  const TestDirectory directory;
  auto log = ClientLog::create(directory.files(), session_of(RunId::random()), 1).value();
  for (int i = 0; i < 2000 && log.dropped() == 0; ++i) log.bundle(tag(std::string(200, 'k')));
  EXPECT_GT(log.dropped(), 0u);
  EXPECT_NE(log.drop_reason().find("limit"), std::string::npos);
}

TEST(ArtifactSpool, KeepsAFileUntilItIsForgotten) {
  const TestDirectory directory;
  const RunId run = RunId::random();
  ASSERT_TRUE(sys::replace_file(directory.path() / "a", "content"));
  const sys::Fd file = sys::open_file(directory.path() / "a", O_RDONLY).value();
  EXPECT_FALSE(has_waiting_artifacts(directory.files()));
  ASSERT_TRUE(keep_artifact(directory.files(), run, "dir/größe 1.bin", file.get()));
  ASSERT_TRUE(sys::replace_file(directory.path() / "a", "changed"));
  const auto waiting = waiting_artifacts(directory.files());
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].run, run);
  EXPECT_EQ(waiting[0].path, "dir/größe 1.bin");
  const sys::Fd kept = open_artifact(directory.files(), waiting[0]).value();
  EXPECT_EQ(sys::read_all(kept, "data", 100).value(), "content");
  delete_artifact(directory.files(), waiting[0]);
  EXPECT_FALSE(has_waiting_artifacts(directory.files()));
}

TEST(ArtifactSpool, OneThatIsBeingMadeDoesNotCount) {
  const TestDirectory directory;
  const fs::path place = directory.path() / "artifacts";
  ASSERT_TRUE(sys::make_directories(place / ("new-" + std::string(32, 'a'))));
  ASSERT_TRUE(sys::replace_file(place / ("new-" + std::string(32, 'a')) / "name", "x"));
  ASSERT_TRUE(sys::make_directories(place / std::string(32, 'b')));
  EXPECT_FALSE(has_waiting_artifacts(directory.files()));
}

TEST(ArtifactSpool, ContentOfMemoryIsKeptToo) {
  const TestDirectory directory;
  const RunId run = RunId::random();
  ASSERT_TRUE(keep_artifact(directory.files(), run, "media/a@1.txt", std::string_view("said")));
  const auto waiting = waiting_artifacts(directory.files());
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].path, "media/a@1.txt");
  const sys::Fd file = open_artifact(directory.files(), waiting[0]).value();
  std::array<char, 8> content{};
  EXPECT_EQ(::read(file.get(), content.data(), content.size()), 4);
  EXPECT_EQ(std::string_view(content.data(), 4), "said");
}

TEST(ArtifactSpool, OneThatIsRefusedIsKeptForAPerson) {
  const TestDirectory directory;
  ASSERT_TRUE(sys::replace_file(directory.path() / "a", "content"));
  const sys::Fd file = sys::open_file(directory.path() / "a", O_RDONLY).value();
  ASSERT_TRUE(keep_artifact(directory.files(), RunId::random(), "a", file.get()));
  const auto waiting = waiting_artifacts(directory.files());
  ASSERT_TRUE(refuse_artifact(directory.files(), waiting.at(0)));
  EXPECT_FALSE(has_waiting_artifacts(directory.files()));
  EXPECT_EQ(sys::list_directory(directory.path() / "refused").size(), 1u);
}

TEST(Calls, WaitInTheirOrderUntilTheyAreTaken) {
  const TestDirectory root;
  EXPECT_FALSE(anything_waits(root.files()));
  const std::string body = "{\n\"a\": 1}\n";
  ASSERT_TRUE(keep_call(root.files(), {.path = "/api/first", .body = body}));
  ASSERT_TRUE(keep_call(root.files(), {.path = "/api/second", .body = ""}));
  ASSERT_TRUE(sys::replace_file(root.path() / "calls" / "unfinished", "x"));
  auto waiting = waiting_calls(root.files());
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(read_call(root.files(), waiting[0])->path, "/api/first");
  EXPECT_EQ(read_call(root.files(), waiting[0])->body, body);
  EXPECT_EQ(read_call(root.files(), waiting[1])->path, "/api/second");
  delete_call(root.files(), waiting[0]);
  EXPECT_TRUE(anything_waits(root.files()));
  ASSERT_TRUE(refuse_call(root.files(), waiting[1]));
  EXPECT_FALSE(anything_waits(root.files()));
  EXPECT_EQ(sys::list_directory(root.path() / "refused").size(), 1U);
}

}  // namespace
}  // namespace corral::spool
