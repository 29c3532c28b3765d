// A run's directory: one holder, a manifest that outlives it, refused frames kept.
#include "spool/run_directory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"
#include "spool/test_spool.h"

namespace corral::spool {
namespace {

void expect_same(const Manifest& a, const Manifest& b) {
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.workload, b.workload);
  EXPECT_EQ(a.experiment, b.experiment);
  EXPECT_EQ(a.workload_name, b.workload_name);
  EXPECT_EQ(a.run_name, b.run_name);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.anchor, b.anchor);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.begun, b.begun);
  EXPECT_EQ(a.supervisor, b.supervisor);
  EXPECT_EQ(a.child, b.child);
  EXPECT_EQ(a.tracking, b.tracking);
  EXPECT_EQ(a.container, b.container);
}

TEST(Manifest, ComesBackAsItWas) {
  Manifest m = test_manifest();
  expect_same(parse_manifest(to_json(m)).value(), m);
  m.begun = boot_time(9'007'199'254'740'995);
  m.child = sys::ProcessIdentity{.pid = 4711, .start_ticks = 1ull << 62, .boot_id = "boot"};
  m.tracking = TrackingAddress{.port = 65535,
                               .secret = "0a",
                               .room = 1ll << 40,
                               .experiment_chosen = true,
                               .name_chosen = false};
  m.container = ContainerAddress{
      .program = {"/usr/bin/podman", "--root=/a b"}, .name = "corral-00", .group = "/g"};
  m.destination = {.store = {}, .server = "https://host:5000"};
  m.anchor.utc_minus_boot = Nanos(std::numeric_limits<std::int64_t>::min());
  m.experiment = "é \"quoted\" \\ \n";
  expect_same(parse_manifest(to_json(m)).value(), m);
}

TEST(Manifest, OfAnOlderCorralBeganWhenItWasMade) {
  Manifest m = test_manifest();
  const auto older = [&] {
    std::string text = to_json(m);
    const std::string_view begun = "\"begun_ns\":null,";
    text.erase(text.find(begun), begun.size());
    return parse_manifest(text).value().begun;
  };
  EXPECT_EQ(older(), std::nullopt);
  m.child = sys::ProcessIdentity{.pid = 4711, .start_ticks = 1, .boot_id = "boot"};
  EXPECT_EQ(older(), m.started);
}

TEST(Manifest, OfANewerCorralIsLeftAlone) {
  std::string text = to_json(test_manifest());
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_EQ(parse_manifest(text).error().code, Code::kUnsupported);
}

TEST(Manifest, AnythingElseIsAnError) {
  for (const std::string_view text :
       {"", "{}", "[]", "null", R"({"version":1,"run":"xyz"})", R"({"version":1,"run":5})"})
    EXPECT_FALSE(parse_manifest(text)) << text;
  const std::string whole = to_json(test_manifest());
  for (std::size_t n = 0; n + 2 < whole.size(); n += 3)
    EXPECT_FALSE(parse_manifest(std::string_view(whole).substr(0, n))) << n;
}

TEST(RunDirectory, IsPrivateAndHoldsWhatTheCommandNeeds) {
  const TestDirectory root;
  const auto run = RunDirectory::create(root.path() / "deep" / "spool", test_manifest()).value();
  EXPECT_EQ(run.path().filename(), run.manifest().run.hex());
  EXPECT_TRUE(fs::is_directory(run.segments()));
  EXPECT_EQ(run.drops(), 0u);
  struct stat info {};
  ASSERT_EQ(::stat(run.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(find_runs({root.path() / "deep" / "spool"}), std::vector<fs::path>{run.path()});
}

TEST(RunDirectory, HasOneHolderAtATime) {
  const TestDirectory root;
  std::optional<RunDirectory> run = RunDirectory::create(root.path(), test_manifest()).value();
  const fs::path path = run->path();
  EXPECT_EQ(RunDirectory::adopt(path).error().code, Code::kUnavailable);
  run.reset();
  const auto adopted = RunDirectory::adopt(path);
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(RunDirectory::adopt(path).error().code, Code::kUnavailable);
}

TEST(RunDirectory, AKilledHoldersLockIsFree) {
  const TestDirectory root;
  const Manifest manifest = test_manifest();
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto run = RunDirectory::create(root.path(), manifest);
    const char c = run ? '1' : '0';
    if (::write(ready[1], &c, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_EQ(c, '1');
  const fs::path path = root.path() / manifest.run.hex();
  EXPECT_EQ(RunDirectory::adopt(path).error().code, Code::kUnavailable);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto adopted = RunDirectory::adopt(path);
  ASSERT_TRUE(adopted) << adopted.error().message;
  expect_same(adopted->manifest(), manifest);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RunDirectory, TheChildIsKnownToWhoeverComesNext) {
  const TestDirectory root;
  const sys::ProcessIdentity child{.pid = 77, .start_ticks = 5, .boot_id = "b"};
  fs::path path;
  {
    RunDirectory run = RunDirectory::create(root.path(), test_manifest()).value();
    path = run.path();
    ASSERT_TRUE(run.set_child(child));
  }
  EXPECT_EQ(RunDirectory::adopt(path).value().manifest().child, child);
}

TEST(RunDirectory, WithoutAManifestThereIsNothingToAdopt) {
  const TestDirectory root;
  const fs::path path = root.path() / RunId::random().hex();
  fs::create_directories(path);
  EXPECT_EQ(RunDirectory::adopt(path).error().code, Code::kNotFound);
  EXPECT_TRUE(fs::is_empty(path));  // not even a lock, which would keep the directory from going
}

TEST(RunDirectory, RemainsOfAKilledSupervisorGoWhenTheyAreOldAndHoldNoData) {
  const TestDirectory root;
  const auto make = [&](const char* name, bool old, const char* file) {
    const fs::path path = root.path() / name;
    fs::create_directories(path / "seg");
    if (file != nullptr) static_cast<void>(sys::replace_file(path / file, "x"));
    if (old) fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    RunDirectory::clear_remains(path);
    return fs::exists(path);
  };
  EXPECT_FALSE(make("empty", true, nullptr));
  EXPECT_FALSE(make("output", true, "out.log"));
  EXPECT_TRUE(make("young", false, nullptr));
  EXPECT_TRUE(make("manifest", true, "manifest.json"));
  EXPECT_TRUE(make("frames", true, "000000000001.frames"));
  EXPECT_TRUE(make("segment", true, "seg/00000000000000000000000000000000-000000.seg"));
}

TEST(RunDirectory, GoesAsAWhole) {
  const TestDirectory root;
  RunDirectory run = RunDirectory::create(root.path(), test_manifest()).value();
  ASSERT_TRUE(sys::replace_file(run.path() / output_name(codec::LogStream::kStdout), "text"));
  run.remove();
  EXPECT_FALSE(fs::exists(run.path()));
  EXPECT_FALSE(run.only_refused());
}

TEST(RunDirectory, RefusedFramesStayForAPersonToLookAt) {
  const TestDirectory root;
  RunDirectory run = RunDirectory::create(root.path(), test_manifest()).value();
  const codec::Bytes frame = {1, 2, 3};
  const SessionId session = SessionId::random();
  ASSERT_TRUE(run.refuse_frame(session, 12, frame));
  EXPECT_FALSE(run.only_refused());
  run.remove();
  EXPECT_TRUE(run.only_refused());
  EXPECT_FALSE(fs::exists(run.segments()));
  EXPECT_EQ(sys::read_file(run.path() / "refused" / (session.hex() + "-12.frame")).value(),
            text_of(frame));
  EXPECT_TRUE(fs::exists(run.path() / "manifest.json"));  // the directory belongs to them
}

TEST(SpoolRoots, AChosenOneIsTheOnlyOne) {
  EXPECT_EQ(spool_roots("/x/y"), std::vector<fs::path>{"/x/y"});
  EXPECT_TRUE(spool_roots("relative").at(0).is_absolute());
}

TEST(SpoolRoots, TheFirstThatCanBeUsedIsTakenAndTheErrorNamesAll) {
  const TestDirectory dir;
  ASSERT_TRUE(sys::replace_file(dir.path() / "file", ""));
  const fs::path bad = dir.path() / "file" / "spool";
  const fs::path good = dir.path() / "a" / "b";
  EXPECT_EQ(usable_root({bad, good}).value(), good);
  EXPECT_TRUE(fs::is_directory(good));
  const auto none = usable_root({bad, "/proc/nothing/spool"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find(bad.parent_path().string()), std::string::npos)
      << none.error().message;
  EXPECT_NE(none.error().message.find("--spool"), std::string::npos);
}

TEST(FindRuns, SeesRunsAndNothingElse) {
  const TestDirectory root;
  const RunDirectory run = RunDirectory::create(root.path(), test_manifest()).value();
  ASSERT_TRUE(sys::replace_file(root.path() / "workload-x.lock", ""));
  fs::create_directories(root.path() / "other");
  EXPECT_EQ(find_runs({root.path(), root.path() / "missing"}), std::vector<fs::path>{run.path()});
}

RC_GTEST_PROP(ManifestProperty, AnyTextComesBack, (const std::string& a, const std::string& b)) {
  Manifest m = test_manifest();
  m.experiment = to_utf8(a);
  m.run_name = to_utf8(b);
  m.host = to_utf8(b + a);
  const Manifest back = parse_manifest(to_json(m)).value();
  RC_ASSERT(back.experiment == m.experiment && back.run_name == m.run_name && back.host == m.host);
}

TEST(RunDirectory, IsHandedOverToAProcessThatAsksAndLives) {
  const TestDirectory dir;
  const fs::path run = dir.path() / "run";
  ASSERT_TRUE(sys::make_directories(run, 0700));
  EXPECT_FALSE(RunDirectory::wanted(run));
  ASSERT_TRUE(RunDirectory::ask_for(run));
  EXPECT_TRUE(RunDirectory::wanted(run));
  RunDirectory::withdraw(run);
  EXPECT_FALSE(RunDirectory::wanted(run));
  // One that died while it asked.
  ASSERT_TRUE(
      sys::replace_file(run / "handover", R"({"pid":1,"start_ticks":1,"boot_id":"another"})"));
  EXPECT_FALSE(RunDirectory::wanted(run));
}

TEST(RunDirectory, CountsItsSupervisors) {
  const TestDirectory dir;
  auto run = RunDirectory::create(dir.path(), test_manifest());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->manifest().adoptions, 0u);
  ASSERT_TRUE(run->set_supervisor({.pid = 5, .start_ticks = 6, .boot_id = "b"}));
  const auto manifest = parse_manifest(*sys::read_file(run->path() / "manifest.json"));
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->adoptions, 1u);
  EXPECT_EQ(manifest->supervisor.pid, 5);
}

}  // namespace
}  // namespace corral::spool
