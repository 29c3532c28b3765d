#include "server/core/events.h"

#include <gtest/gtest.h>

#include <array>
#include <semaphore>

namespace corral::server {
namespace {

// Collects the events of a stream; waits for a text instead of a time.
class Reader {
 public:
  explicit Reader(std::shared_ptr<PushStream> stream) : stream_(std::move(stream)) {
    stream_->attach([this] { news_.release(); });
  }
  ~Reader() { stream_->attach(nullptr); }
  bool read_until(std::string_view needle) {
    while (seen_.find(needle) == std::string::npos) {
      if (!news_.try_acquire_for(std::chrono::seconds(60))) return false;
      seen_ += stream_->drain();
    }
    return true;
  }
  [[nodiscard]] std::size_t count(std::string_view needle) const {
    std::size_t n = 0;
    for (std::size_t at = seen_.find(needle); at != std::string::npos;
         at = seen_.find(needle, at + 1))
      ++n;
    return n;
  }
  [[nodiscard]] PushStream& stream() { return *stream_; }

 private:
  std::shared_ptr<PushStream> stream_;
  std::counting_semaphore<> news_{0};
  std::string seen_;
};

const RunId kRun = RunId::random();
const RunId kOther = RunId::random();

TEST(EventHub, NamesChangedRunsAndRunsWithNewData) {
  EventHub hub;
  Reader reader(hub.subscribe());
  hub.note(std::span(&kRun, 1), std::span(&kOther, 1));
  EXPECT_TRUE(reader.read_until("event: runs\ndata: {\"runs\":[\"" + kRun.hex() + "\"]}\n\n"));
  EXPECT_TRUE(reader.read_until("event: data\ndata: {\"runs\":[\"" + kOther.hex() + "\"]}\n\n"));
}

TEST(EventHub, TellsEachReaderOfWhatTheySee) {
  EventHub hub;
  Reader all(hub.subscribe());
  Reader one(hub.subscribe(EventHub::Sees{
      .run = [](const RunId& run) { return run == kOther; },
      .plan = [](const std::string& plan) { return plan == "bb"; },
      .experiment = [](const std::string& name) { return name == "open"; },
  }));
  const std::array runs{kRun, kOther};
  hub.note(runs, runs);
  hub.note_plan("aa");
  hub.note_plan("bb");
  EXPECT_TRUE(one.read_until("event: data\ndata: {\"runs\":[\"" + kOther.hex() + "\"]}\n\n"));
  EXPECT_TRUE(one.read_until("event: plans\ndata: {\"plans\":[\"bb\"]}\n\n"));
  EXPECT_TRUE(all.read_until("event: data"));
  EXPECT_TRUE(all.read_until("\"aa\""));
  EXPECT_TRUE(all.read_until("\"bb\""));
  EXPECT_EQ(one.count("\"aa\""), 0U);
  EXPECT_EQ(one.count(kOther.hex()), 2U);
  EXPECT_EQ(one.count(kRun.hex()), 0U);
  EXPECT_EQ(all.count(kRun.hex()), 2U);
}

TEST(EventHub, TellsOfWhatIsGoneByTheNameOfItsExperiment) {
  EventHub hub;
  Reader all(hub.subscribe());
  const auto nothing = [](const auto&) { return false; };
  Reader one(hub.subscribe(
      EventHub::Sees{.run = nothing, .plan = nothing, .experiment = [](const std::string& name) {
                       return name == "open";
                     }}));
  hub.note_removed(std::span(&kRun, 1), "hidden/x");
  hub.note_removed_plan("aa", {"open", "hidden/"});
  hub.note_removed_plan("bb", {"open"});
  hub.note_removed(std::span(&kOther, 1), "open");
  for (const std::string& gone : {kOther.hex(), std::string("\"bb\"")}) {
    EXPECT_TRUE(one.read_until(gone));
    EXPECT_TRUE(all.read_until(gone));
  }
  EXPECT_EQ(one.count(kRun.hex()) + one.count("\"aa\""), 0U);
  EXPECT_TRUE(all.read_until(kRun.hex()));
  EXPECT_TRUE(all.read_until("\"aa\""));
}

TEST(EventHub, NamesPlansThatWereToldOf) {
  EventHub hub;
  Reader reader(hub.subscribe());
  hub.note_plan("aa");
  EXPECT_TRUE(reader.read_until("event: plans\ndata: {\"plans\":[\"aa\"]}\n\n"));
}

TEST(EventHub, ManyNotesBecomeFewEvents) {
  constexpr std::chrono::milliseconds kInterval{200};
  const auto began = std::chrono::steady_clock::now();
  EventHub hub({.interval = kInterval});
  Reader reader(hub.subscribe());
  for (int i = 0; i < 1000; ++i) hub.note({}, std::span(&kRun, 1));
  hub.note(std::span(&kOther, 1), {});
  EXPECT_TRUE(reader.read_until("event: runs"));
  // The first at once, then one an interval, however long a busy machine takes for the notes.
  const auto most = 2 + (std::chrono::steady_clock::now() - began) / kInterval;
  EXPECT_LE(reader.count("event: data"), static_cast<std::size_t>(most));
  EXPECT_GE(reader.count("event: data"), 1U);
}

TEST(EventHub, CommentsKeepIdleStreamsOpen) {
  EventHub hub({.heartbeat = std::chrono::milliseconds(20)});
  Reader reader(hub.subscribe());
  EXPECT_TRUE(reader.read_until("\n: still here\n\n"));
}

TEST(EventHub, ClosedStreamsAreForgottenAndMakeRoom) {
  EventHub hub({.max_streams = 1});
  const auto first = hub.subscribe();
  ASSERT_TRUE(first);
  EXPECT_EQ(hub.subscribe(), nullptr);
  EXPECT_EQ(hub.open_streams(), 1U);
  first->close();
  EXPECT_EQ(hub.open_streams(), 0U);
  EXPECT_NE(hub.subscribe(), nullptr);
}

TEST(EventHub, StreamsEndWithTheHub) {
  std::shared_ptr<PushStream> stream;
  {
    EventHub hub;
    stream = hub.subscribe();
  }
  EXPECT_TRUE(stream->closed());
}

}  // namespace
}  // namespace corral::server
