#include <arpa/inet.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "collect/foreign/foreign_sources.h"
#include "collect/foreign/statsd.h"
#include "collect/foreign/statsd_address.h"
#include "collect/foreign/test_sources.h"

namespace corral::collect::foreign {
namespace {

using Strings = std::vector<std::string>;

Strings read(std::string_view datagram, std::size_t* bad = nullptr) {
  Strings all;
  const std::size_t found = read_statsd(datagram, [&](const StatsdMetric& m) {
    constexpr std::string_view kKinds[] = {"gauge", "change", "count", "time", "value"};
    all.push_back(fmt::format("{} {}={}{}", kKinds[static_cast<std::size_t>(m.kind)], m.name,
                              m.value, m.tags.empty() ? "" : fmt::format(" [{}]", m.tags)));
  });
  if (bad != nullptr) *bad = found;
  return all;
}

TEST(StatsdPacket, TypesRatesTagsAndSeveralLines) {
  std::size_t bad = 0;
  EXPECT_EQ(
      read("queue:17|g\nqueue:-3|g\nhits:1|c\nhits:2|c|@0.1\nrequest:320|ms|#gpu:0,a\n"
           "size:5:6|d\nlat:7|h\n",
           &bad),
      (Strings{"gauge queue=17", "change queue=-3", "count hits=1", "count hits=20",
               "time request=0.32 [gpu:0,a]", "value size=5", "value size=6", "value lat=7"}));
  EXPECT_EQ(bad, 0u);
}

TEST(StatsdPacket, WhatIsNoneIsCounted) {
  std::size_t bad = 0;
  EXPECT_EQ(read("a\nb:1\n:1|g\nc:x|g\nusers:5|s\n_e{1,1}:a|b\nd:1|c|@0\nok:1|g", &bad),
            (Strings{"gauge ok=1"}));
  EXPECT_EQ(bad, 7u);
}

RC_GTEST_PROP(StatsdPacket, AnyBytesAreRead, (std::string a, std::string b)) {
  read(a + ":1|" + b + "\n" + a + ":" + b + "|g");
}

class Client {
 public:
  explicit Client(const std::string& address) {
    const auto parsed = StatsdAddress::parse(address).value();
    std::filesystem::path path = parsed.path;
    if (path.empty()) {
      fd_ = sys::Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(parsed.udp.port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    } else {
      fd_ = sys::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::ranges::copy(path.native(), to.sun_path);
      connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
  }
  [[nodiscard]] bool send(std::string_view text) const {
    return connected_ && ::send(fd_.get(), text.data(), text.size(), 0) > 0;
  }

 private:
  sys::Fd fd_;
  bool connected_ = false;
};

struct StatsdTest : ::testing::Test {
  std::unique_ptr<ForeignSources> open(const std::string& listen) {
    StatsdSource source;
    source.listen = listen;
    Sources all;
    all.statsd = {source};
    ForeignContext context;
    context.queue = &queue;
    auto opened = ForeignSources::open(all, context);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  PointQueue queue;
  Collected got{queue};
};

TEST_F(StatsdTest, CountsAreTotalsGaugesChangeAndTimesAreValues) {
  auto sources = open("127.0.0.1:0");
  ASSERT_TRUE(sources->start());
  const Client client(sources->statsd_address().value());
  ASSERT_TRUE(client.send("hits:1|c\nhits:2|c|@0.5\nqueue:10|g\nqueue:-3|g\nstep:12|ms|#gpu:1"));
  ASSERT_TRUE(eventually([&] { return !got.values("hits").empty(); }));
  ASSERT_TRUE(client.send("hits:5|c"));
  ASSERT_TRUE(eventually([&] { return got.values("hits").back() == 10; }));
  EXPECT_EQ(got.values("queue"), std::vector<double>{7});
  EXPECT_EQ(got.values("step/gpu=1"), std::vector<double>{0.012});
  EXPECT_EQ(got.series("step/gpu=1")->unit, "s");
  EXPECT_EQ(got.series("hits")->kind, metric::Kind::kCounter);
  EXPECT_TRUE(sources->problems().empty());
}

TEST_F(StatsdTest, WhatWasSentLastIsRecordedAtTheEnd) {
  auto sources = open("127.0.0.1:0");
  ASSERT_TRUE(sources->start());
  const Client client(sources->statsd_address().value());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client.send("hits:1|c"));
  sources->stop(sys::boot_now() + std::chrono::seconds(5));
  EXPECT_EQ(got.values("hits").back(), 50);
}

TEST(UdpSenders, ReadsTheUsersOfPorts) {
  PortUsers users;
  read_udp_table(
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      "  52: 0100007F:1FBD 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 "
      "4711 2 0000000000000000 0\n"
      "  53: 00000000000000000000000001000000:1FBD 0000:0000 07 0:0 00:0 0 33 0 1 2 0 0\n"
      "broken\n 1: x:y\n 2: 0100007F:1FBE 0 0\n",
      users);
  EXPECT_EQ(users, (PortUsers{{0x1FBD, {1000, 33}}}));
}

// Sends a datagram as another user, and keeps its socket until it is killed.
class Stranger {
 public:
  Stranger(const std::string& address, std::string_view text) {
    int sent[2];
    EXPECT_EQ(::pipe(sent), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
      const Client client(address);
      if (!client.send(text) || ::write(sent[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(sent[1]);
    char c = 0;
    EXPECT_EQ(::read(sent[0], &c, 1), 1);
    ::close(sent[0]);
  }
  ~Stranger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

 private:
  pid_t pid_;
};

TEST_F(StatsdTest, DatagramsOfOtherUsersAreDroppedAndCounted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const auto sources = open("127.0.0.1:0");
  ASSERT_TRUE(sources->start());
  const std::string address = sources->statsd_address().value();
  const Stranger stranger(address, "theirs:1|g");
  ASSERT_TRUE(eventually([&] { return queue.dropped() == 1; }));
  const Client client(address);
  ASSERT_TRUE(client.send("ours:2|g"));
  ASSERT_TRUE(eventually([&] { return !got.values("ours").empty(); }));
  EXPECT_TRUE(got.values("theirs").empty());
  const auto problems = sources->problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems[0].message.starts_with("receives datagrams from another user"));
}

TEST_F(StatsdTest, AUnixSocketIsPrivateAndGoesWithTheRun) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("corral-statsd-test-{}.sock", ::getpid());
  auto sources = open("unix:" + path.string());
  ASSERT_TRUE(sources->start());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Client client("unix:" + path.string());
  ASSERT_TRUE(client.send("a:1|g"));
  ASSERT_TRUE(eventually([&] { return !got.values("a").empty(); }));
  auto second = open("unix:" + path.string());
  EXPECT_EQ(second->problems().at(0).message,
            "not available: " + path.string() + ": another process listens there");
  EXPECT_EQ(second->statsd_address(), std::nullopt);
  sources.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StatsdTest, APortThatIsTakenIsToldAndTheOtherGoesOn) {
  auto sources = open("127.0.0.1:0");
  auto second = open(sources->statsd_address().value());
  ASSERT_TRUE(second->start());
  const auto problems = second->problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message.find("another process listens there"), std::string::npos);
}

TEST_F(StatsdTest, WhatIsNotUnderstoodIsToldOnce) {
  auto sources = open("127.0.0.1:0");
  ASSERT_TRUE(sources->start());
  const Client client(sources->statsd_address().value());
  ASSERT_TRUE(client.send("users:5|s"));
  ASSERT_TRUE(client.send("users:6|s"));
  ASSERT_TRUE(client.send("a:1|g"));
  ASSERT_TRUE(eventually([&] { return !got.values("a").empty(); }));
  const auto problems = sources->problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "sends a datagram that cannot be parsed: users:5|s");
}

}  // namespace
}  // namespace corral::collect::foreign
