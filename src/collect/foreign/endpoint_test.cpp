#include "collect/foreign/endpoint.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "collect/foreign/foreign_sources.h"
#include "collect/foreign/test_sources.h"
#include "sys/clock.h"
#include "sys/socket.h"

namespace corral::collect::foreign {
namespace {

using std::chrono::milliseconds;

// Answers every request with what it was last given, one connection at a time.
class LittleServer {
 public:
  explicit LittleServer(std::uint16_t port = 0)
      : socket_(sys::listen_tcp({.host = "127.0.0.1", .port = port}).value()),
        port_(sys::bound_port(socket_).value()),
        thread_([this] { serve(); }) {}
  ~LittleServer() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  LittleServer(const LittleServer&) = delete;
  LittleServer& operator=(const LittleServer&) = delete;

  void answer(std::string body, std::string status = "200 OK") {
    answer_.with([&](std::string& text) {
      text = fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                         body.size(), body);
    });
  }
  void say_nothing() {
    answer_.with([](std::string& text) { text.clear(); });
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view path = "/metrics") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }
  [[nodiscard]] std::string request() const {
    return request_.with([](const std::string& text) { return text; });
  }

 private:
  void serve() {
    for (;;) {
      const sys::Fd peer(::accept(socket_.get(), nullptr, nullptr));
      if (!peer) return;
      std::array<char, 4096> buffer{};
      const ssize_t n = ::recv(peer.get(), buffer.data(), buffer.size(), 0);
      request_.with([&](std::string& text) {
        text.assign(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      });
      const std::string text = answer_.with([](const std::string& now) { return now; });
      if (text.empty()) {
        // Until the client gives up.
        ::recv(peer.get(), buffer.data(), buffer.size(), 0);
        continue;
      }
      ::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }
  Guarded<std::string> answer_;
  Guarded<std::string> request_;
  sys::Fd socket_;
  std::uint16_t port_;
  std::thread thread_;
};

struct EndpointTest : ::testing::Test {
  Endpoint& make(PrometheusSource source = {}) {
    source.name = "gpu";
    if (source.url.empty()) source.url = server->url();
    endpoint = Endpoint::create(source, queue, problems).value();
    return *endpoint;
  }
  void scrape() { endpoint->scrape(cancel); }
  std::vector<std::string> messages() {
    std::vector<std::string> all;
    for (const Problem& problem : problems.take()) all.push_back(problem.message);
    return all;
  }
  std::optional<LittleServer> server{std::in_place};
  PointQueue queue;
  ProblemBox problems;
  Collected got{queue};
  std::unique_ptr<Endpoint> endpoint;
  std::atomic<bool> cancel{false};
};

TEST_F(EndpointTest, SamplesBecomeSeries) {
  make();
  server->answer(
      "# HELP power Draw (in W).\n# TYPE energy_joules counter\n"
      "power{gpu=\"0\",host=\"a\"} 35\npower{gpu=\"1\",host=\"a\"} 36\nenergy_joules 7\n");
  const BootTime before = sys::boot_now();
  scrape();
  EXPECT_EQ(got.names(), (std::vector<std::string>{"power/gpu=0", "power/gpu=1", "energy_joules"}));
  EXPECT_EQ(got.values("power/gpu=1"), std::vector<double>{36});
  EXPECT_EQ(got.series("power/gpu=1")->unit, "W");
  EXPECT_EQ(got.series("energy_joules")->kind, metric::Kind::kCounter);
  EXPECT_GE(got.points("power/gpu=0")[0].time, before);
  EXPECT_LE(got.points("power/gpu=0")[0].time, sys::boot_now());
  EXPECT_TRUE(server->request().starts_with("GET /metrics HTTP/1.1"));
  scrape();
  EXPECT_EQ(got.values("energy_joules").size(), 2u);
  EXPECT_TRUE(messages().empty());
}

TEST_F(EndpointTest, ThePathAndItsQueryAreAskedFor) {
  PrometheusSource source;
  source.url = server->url("/federate?match=up");
  make(source);
  server->answer("up 1\n");
  scrape();
  EXPECT_TRUE(server->request().starts_with("GET /federate?match=up HTTP/1.1"));
  EXPECT_EQ(got.values("up"), std::vector<double>{1});
}

TEST_F(EndpointTest, OneThatIsDownIsToldOnceAskedLessOftenAndRecovers) {
  const std::uint16_t port = server->port();
  make();
  server.reset();
  for (int i = 0; i < 6; ++i) scrape();
  const auto told = messages();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with("not available: http://127.0.0.1:")) << told[0];
  EXPECT_GT(endpoint->due(), sys::boot_now() + std::chrono::seconds(9));
  EXPECT_LE(endpoint->due(), sys::boot_now() + std::chrono::seconds(10));
  server.emplace(port);
  server->answer("x 1\n");
  scrape();
  EXPECT_EQ(messages(), std::vector<std::string>{"answers again"});
  EXPECT_EQ(got.values("x").size(), 1u);
  EXPECT_LE(endpoint->due(), sys::boot_now() + std::chrono::seconds(1));
}

TEST_F(EndpointTest, OtherAnswersAreToldAsTheyAre) {
  make();
  server->answer("gone", "404 Not Found");
  scrape();
  EXPECT_TRUE(messages().at(0).ends_with("answers with 404"));
  server->answer("x 1\n");
  scrape();
  server->answer("<html><body>hello</body></html>");
  scrape();
  EXPECT_TRUE(messages().at(1).ends_with(
      "answers with something other than metrics: <html><body>hello</body></html>"));
  server->answer("x 1\n???\n");
  scrape();
  EXPECT_EQ(messages(), (std::vector<std::string>{"answers with a line that is not a sample: ???",
                                                  "answers again"}));
}

TEST_F(EndpointTest, OneThatDoesNotAnswerInTimeIsLeft) {
  PrometheusSource source;
  source.timeout = milliseconds(100);
  make(source);
  server->say_nothing();
  const BootTime before = sys::boot_now();
  scrape();
  EXPECT_LT(sys::boot_now() - before, std::chrono::seconds(5));
  EXPECT_EQ(messages().size(), 1u);
}

TEST_F(EndpointTest, MoreSeriesThanAllowedAreToldAndTheRestIsRecorded) {
  PrometheusSource source;
  source.max_series = 10;
  source.drop = {"noise"};
  make(source);
  std::string text;
  for (int i = 0; i < 30; ++i) text += fmt::format("noise{{n=\"{}\"}} 1\n", i);
  for (int i = 0; i < 30; ++i) text += fmt::format("x{{n=\"{}\"}} {}\n", i, i);
  server->answer(text);
  scrape();
  EXPECT_EQ(got.names().size(), 10u);
  EXPECT_EQ(got.values("x/n=9"), std::vector<double>{9});
  ASSERT_EQ(messages().size(), 1u);
}

TEST_F(EndpointTest, ASampleWithItsOwnTimeIsRecordedOnceAtThatTime) {
  make();
  const auto ago = sys::utc_now() - std::chrono::seconds(30);
  const auto ms = std::chrono::duration_cast<milliseconds>(ago.time_since_epoch()).count();
  server->answer(fmt::format("x 1 {}\nold 1 1000\n", ms));
  scrape();
  scrape();
  ASSERT_EQ(got.values("x").size(), 1u);
  EXPECT_NEAR(seconds(sys::boot_now() - got.points("x")[0].time), 30, 5);
  EXPECT_NEAR(seconds(sys::boot_now() - got.points("old")[0].time), 0, 5)
      << "a clock that cannot be believed";
}

TEST_F(EndpointTest, ADuplicateIsDroppedCountedAndToldAndOthersKeepTheirLabels) {
  make();
  server->answer(
      "c_total{a=\"1\"} 1\nc_total{a=\"1\"} 2\n"
      "g{q=\"x\"} NaN\ng{q=\"y\"} +Inf\ng{q=\"z\"} 42\n");
  scrape();
  EXPECT_EQ(got.names(), (std::vector<std::string>{"c_total", "g/q=x", "g/q=y", "g/q=z"}));
  EXPECT_EQ(got.values("c_total"), std::vector<double>{1});
  EXPECT_EQ(got.values("g/q=z"), std::vector<double>{42});
  EXPECT_EQ(queue.dropped(), 1u);
  scrape();
  EXPECT_EQ(queue.dropped(), 2u);
  EXPECT_EQ(messages(), (std::vector<std::string>{
                            "gives 'c_total' several times in one answer (1 duplicate samples): "
                            "the first is recorded, the others are dropped and counted"}));
}

TEST_F(EndpointTest, TwoEndpointsWithOneNameHaveSeriesOfTheirOwn) {
  make();
  server->answer("up 1\n");
  scrape();
  PrometheusSource second;
  second.name = "other";
  second.url = server->url();
  const auto other = Endpoint::create(second, queue, problems).value();
  server->answer("up 0\n");
  other->scrape(cancel);
  EXPECT_EQ(got.values("up"), std::vector<double>{1});
  EXPECT_EQ(got.values("up/from=prometheus.other"), std::vector<double>{0});
  EXPECT_EQ(messages(), (std::vector<std::string>{
                            "gives 'up' as prometheus.gpu does: such series are recorded apart, "
                            "with from=prometheus.other in their source; a prefix gives them names "
                            "of their own"}));
}

TEST_F(EndpointTest, AHugeAnswerIsRefused) {
  make();
  server->answer(std::string(17u << 20, '#'));
  scrape();
  EXPECT_TRUE(messages().at(0).ends_with("answers with more than 16 MiB"));
}

TEST_F(EndpointTest, ScrapedByItsThreadUntilTheEnd) {
  server->answer("x 1\n");
  PrometheusSource source;
  source.name = "gpu";
  source.url = server->url();
  source.interval = milliseconds(100);
  PrometheusSource dead = source;
  dead.name = "dead";
  dead.url = "http://127.0.0.1:9/metrics";
  Sources sources;
  sources.prometheus = {dead, source};
  ForeignContext context;
  context.queue = &queue;
  auto opened = ForeignSources::open(sources, context);
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->start());
  ASSERT_TRUE(eventually([&] { return got.values("x").size() >= 5; }));
  (*opened)->stop(sys::boot_now() + std::chrono::seconds(5));
  const auto found = (*opened)->problems();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, "prometheus.dead");
}

}  // namespace
}  // namespace corral::collect::foreign
