#include "run/tensorboard/event_tail.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "codec/protobuf.h"
#include "imports/test_event_file.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

namespace fs = sys::fs;
using codec::ProtoWriter;

std::string record(const ProtoWriter& event) { return imports::record(event.text()); }

class EventTailTest : public ::testing::Test {
 protected:
  EventTailTest()
      : folder(fs::path(::testing::TempDir()) /
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~EventTailTest() override { fs::remove_all(folder); }

  [[nodiscard]] double now() const {
    return static_cast<double>(ns_of(sys::utc_now())) / 1e9 + age;
  }
  [[nodiscard]] std::string first() const {
    return record(ProtoWriter().real(1, now()).bytes(3, "brain.Event:2"));
  }
  [[nodiscard]] std::string loss(std::uint64_t step) const {
    const ProtoWriter value = ProtoWriter().bytes(1, "loss").message(
        8, ProtoWriter().number(1, 2).real(6, static_cast<double>(step) / 4));
    ProtoWriter with_plugin = value;
    with_plugin.message(9, ProtoWriter().message(1, ProtoWriter().bytes(1, "scalars")));
    ProtoWriter event;
    event.real(1, now()).number(2, step);
    return record(event.message(5, ProtoWriter().message(1, with_plugin)));
  }
  void append(const std::string& name, std::string_view bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::app | std::ios::binary) << bytes;
  }
  // Takes what came, until there are so many points or none has come for 30 s.
  void wait_for(std::size_t points) {
    BootTime deadline = sys::boot_now() + std::chrono::seconds(30);
    while (steps.size() < points && sys::boot_now() < deadline) {
      const std::size_t before = steps.size();
      drain();
      if (steps.size() > before) deadline = sys::boot_now() + std::chrono::seconds(30);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void drain() {
    auto drained = queue.drain();
    for (const auto& series : drained.series) sources.push_back(series.source);
    for (const auto& point : drained.points) steps.push_back(point.step.value_or(-1));
  }

  const fs::path folder;
  double age = 0;  // seconds that are added to the time of events
  collect::foreign::PointQueue queue;
  std::vector<std::int64_t> steps;
  std::vector<std::string> sources;
};
using Steps = std::vector<std::int64_t>;

TEST_F(EventTailTest, PointsAppearWhileAFileGrows) {
  EventTail tail({.directory = folder / "later", .begun = sys::utc_now(), .from = {}}, queue);
  ASSERT_TRUE(tail.start());
  const std::string name = "later/a/events.out.tfevents.1.host";
  append(name, first() + loss(1));
  wait_for(1);
  EXPECT_EQ(steps, Steps{1});
  EXPECT_EQ(sources, std::vector<std::string>{"a"});
  // A record in two pieces waits for its rest.
  const std::string second = loss(2);
  append(name, second.substr(0, 20));
  append("later/events.out.tfevents.2.host", first() + loss(7));
  wait_for(2);
  EXPECT_EQ(steps, (Steps{1, 7}));
  append(name, second.substr(20));
  wait_for(3);
  EXPECT_EQ(steps, (Steps{1, 7, 2}));
  append(name, loss(3));
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  drain();
  EXPECT_EQ(steps, (Steps{1, 7, 2, 3}));
  EXPECT_TRUE(tail.problems().empty());
}

TEST_F(EventTailTest, TextsAreWhatEveryStoreTakes) {
  const ProtoWriter words = ProtoWriter().number(1, 7).bytes(8, std::string_view("x\0y\xff", 4));
  const ProtoWriter plugin = ProtoWriter().message(1, ProtoWriter().bytes(1, "text"));
  ProtoWriter value;
  value.bytes(1, std::string_view("a\0b\xff", 4)).message(8, words).message(9, plugin);
  ProtoWriter event;
  event.real(1, now()).number(2, 3).message(5, ProtoWriter().message(1, value));
  EventTail tail({.directory = folder, .begun = sys::utc_now(), .from = {}}, queue);
  append("events.out.tfevents.1.host", first() + record(event));
  ASSERT_TRUE(tail.start());
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  const auto texts = tail.notes().texts;
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].name, "a b\uFFFD");
  EXPECT_EQ(texts[0].attributes.at(0).second, "\"x y\uFFFD\"");
}

TEST_F(EventTailTest, FilesOfEarlierRunsAreIgnored) {
  age = -60;
  append("old/events.out.tfevents.1.host", first() + loss(1));
  age = 0;
  EventTail tail({.directory = folder, .begun = sys::utc_now(), .from = {}}, queue);
  append("old/events.out.tfevents.1.host", loss(2));
  append("new/events.out.tfevents.1.host", first() + loss(3));
  ASSERT_TRUE(tail.start());
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  drain();
  EXPECT_EQ(steps, Steps{3});
}

TEST_F(EventTailTest, AnAdoptedRunGoesOnFromNow) {
  age = -10;
  append("events.out.tfevents.1.host", first() + loss(1));
  age = 1;
  append("events.out.tfevents.1.host", loss(2));
  const UtcTime now = sys::utc_now();
  EventTail tail({.directory = folder, .begun = now - std::chrono::seconds(60), .from = now},
                 queue);
  ASSERT_TRUE(tail.start());
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  drain();
  EXPECT_EQ(steps, Steps{2});
}

TEST_F(EventTailTest, AFullQueueLosesNothing) {
  std::string bytes = first();
  Steps expected;
  for (int i = 0; i < 100'000; ++i) {
    bytes += loss(static_cast<std::uint64_t>(i));
    expected.push_back(i);
  }
  EventTail tail(
      {.directory = folder, .begun = sys::utc_now() - std::chrono::seconds(60), .from = {}}, queue);
  append("events.out.tfevents.1.host", bytes);
  ASSERT_TRUE(tail.start());
  wait_for(expected.size());
  EXPECT_EQ(steps, expected);
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST_F(EventTailTest, ImagesAndTextsBecomeFilesOfTheRun) {
  const auto value = [&](const ProtoWriter& content) {
    ProtoWriter event;
    event.real(1, now()).number(2, 3);
    return record(event.message(5, ProtoWriter().message(1, content)));
  };
  const std::string png = "\x89PNG\r\n\x1a\n";
  const std::string image =
      value(ProtoWriter().bytes(1, "i").message(4, ProtoWriter().bytes(4, png)));
  const std::string text =
      value(ProtoWriter()
                .bytes(1, "t")
                .message(8, ProtoWriter().number(1, 7).bytes(8, "said"))
                .message(9, ProtoWriter().message(1, ProtoWriter().bytes(1, "text"))));
  std::map<std::string, std::string> kept;
  EventTail tail(
      {.directory = folder,
       .begun = sys::utc_now(),
       .from = {},
       .keep_medium = [&](const std::string& path, std::string_view content) -> Result<> {
         if (path.ends_with(".txt")) return fail(Code::kNoSpace, "full");
         kept[path] = content;
         return {};
       }},
      queue);
  append("val/events.out.tfevents.1.host", first() + image + text + loss(5));
  ASSERT_TRUE(tail.start());
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  drain();
  EXPECT_EQ(kept, (std::map<std::string, std::string>{{"media/val=2Fi@3.png", png}}));
  EXPECT_EQ(steps, Steps{5});
  const auto notes = tail.notes();
  EXPECT_EQ(notes.texts.size(), 1U);
  ASSERT_EQ(notes.params.size(), 1U);
  EXPECT_EQ(notes.params[0].value, R"({"texts as media":1})");
}

TEST_F(EventTailTest, DamageIsReportedAndOthersGoOn) {
  EventTail tail({.directory = folder, .begun = sys::utc_now(), .from = {}}, queue);
  std::string damaged = first() + loss(1) + loss(2);
  damaged[damaged.size() - 10] ^= 1;
  append("a/events.out.tfevents.1.host", damaged);
  append("b/events.out.tfevents.1.host", first() + loss(5));
  ASSERT_TRUE(tail.start());
  tail.stop(sys::boot_now() + std::chrono::seconds(10));
  drain();
  std::ranges::sort(steps);
  EXPECT_EQ(steps, (Steps{1, 5}));
  const auto problems = tail.problems();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].source, "tensorboard");
  EXPECT_NE(problems[0].message.find("a/events.out.tfevents.1.host: the record at byte "),
            std::string::npos);
}

}  // namespace
}  // namespace corral::run
