// Tests of the OTLP receiver over real sockets.
#include "run/otlp/otlp_receiver.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "codec/protobuf.h"
#include "collect/foreign/test_sources.h"
#include "http/test_client.h"
#include "spool/test_spool.h"

namespace corral::run {
namespace {

namespace foreign = collect::foreign;
using http::TestClient;

class OtlpReceiverTest : public ::testing::Test {
 protected:
  void open(const std::string& listen = "127.0.0.1:0") {
    source_.name = "x";
    source_.listen = listen;
    sources_.emplace(std::span(&source_, 1), queue_);
    sources_->start();
  }
  [[nodiscard]] std::uint16_t port() const {
    const std::string url = sources_->url();
    const std::size_t colon = url.rfind(':');
    return static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
  }
  TestClient::Reply post(std::string_view body, std::string_view type = "application/json",
                         std::string_view more = "", std::string_view path = "/v1/metrics") {
    TestClient client(port());
    return send(
        client, body,
        fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Type: {}\r\n{}", path, type, more));
  }
  static TestClient::Reply send(TestClient& client, std::string_view body, std::string head) {
    EXPECT_TRUE(client.connected());
    client.send(fmt::format("{}Content-Length: {}\r\n\r\n{}", head, body.size(), body));
    return client.reply().value_or(TestClient::Reply{});
  }
  std::vector<std::string> problems() {
    std::vector<std::string> all;
    for (const auto& problem : sources_->problems()) all.push_back(problem.message);
    return all;
  }
  // Returns one metric in JSON; `points` as "{...}, {...}".
  static std::string json(std::string_view name, std::string_view kind, std::string_view points,
                          std::string_view more = "", std::string_view pid = "1") {
    return fmt::format(
        R"({{"resourceMetrics": [{{"resource": {{"attributes": [
             {{"key": "service.name", "value": {{"stringValue": "train"}}}},
             {{"key": "pid", "value": {{"intValue": "{}"}}}}]}},
           "scopeMetrics": [{{"metrics": [{{"name": "{}", "unit": "s",
             "{}": {{{} "dataPoints": [{}]}}}}]}}]}}]}})",
        pid, name, kind, more, points);
  }
  static std::string label(std::string_view key, std::string_view value) {
    return fmt::format(R"("attributes": [{{"key": "{}", "value": {{"stringValue": "{}"}}}}])", key,
                       value);
  }

  foreign::OtlpSource source_;
  foreign::PointQueue queue_;
  foreign::Collected got_{queue_};
  std::optional<OtlpSources> sources_;
};

TEST_F(OtlpReceiverTest, RecordsGaugesCountersAndDeltas) {
  open();
  EXPECT_EQ(post(json("loss", "gauge", R"({"asDouble": 0.5})")).body, "{}");
  const char* delta = R"("isMonotonic": true, "aggregationTemporality": 1,)";
  // The second point comes twice, as when an answer was lost.
  for (const char* point :
       {R"({"asInt": "2", "timeUnixNano": "1"})", R"({"asInt": "3", "timeUnixNano": "2"})",
        R"({"asInt": "3", "timeUnixNano": "2"})"})
    EXPECT_EQ(post(json("tokens", "sum", point, delta)).status, 200);
  EXPECT_EQ(got_.values("loss"), std::vector<double>{0.5});
  EXPECT_EQ(got_.series("loss")->unit, "s");
  EXPECT_EQ(got_.values("tokens"), (std::vector<double>{2, 5}));
  EXPECT_EQ(got_.series("tokens")->kind, metric::Kind::kCounter);
  EXPECT_EQ(
      post(json("took", "histogram", R"({"count": "4", "sum": 9, "bucketCounts": ["4"]})")).status,
      200);
  EXPECT_EQ(got_.values("took_count"), std::vector<double>{4});
  EXPECT_EQ(got_.values("took_sum"), std::vector<double>{9});
  EXPECT_TRUE(problems().empty());
}

TEST_F(OtlpReceiverTest, AsFewLabelsAsTellSeriesApart) {
  open();
  post(json("loss", "gauge",
            fmt::format(R"({{"asInt": 1, {}}}, {{"asInt": 2, {}}})", label("rank", "0"),
                        label("rank", "1"))));
  EXPECT_EQ(got_.values("loss/rank=0"), std::vector<double>{1});
  EXPECT_EQ(got_.values("loss/rank=1"), std::vector<double>{2});
  // Another process sends the same metric with the same labels.
  post(json("loss", "gauge", fmt::format(R"({{"asInt": 3, {}}})", label("rank", "1")), "", "2"));
  bool apart = false;
  for (const std::string& name : got_.names()) {
    if (name.find("pid=2") != std::string::npos) apart = got_.values(name)[0] == 3;
  }
  EXPECT_TRUE(apart);
}

TEST_F(OtlpReceiverTest, NamesAreKeptDroppedAndRenamed) {
  source_.drop = {"process_.*"};
  source_.rename = {{"a", "alpha"}};
  source_.prefix = "otel.";
  open();
  for (const char* name : {"a", "b", "process_cpu"})
    EXPECT_EQ(post(json(name, "gauge", R"({"asInt": 1})")).body, "{}");
  EXPECT_EQ(got_.names(), (std::vector<std::string>{"alpha", "otel.b"}));
}

TEST_F(OtlpReceiverTest, LongNamesAndLabelsAreNotKept) {
  open();
  const std::string text(17u << 10, 'x');
  const std::string labelled = fmt::format(R"({{"asInt": 1, {}}})", label("k", text));
  EXPECT_NE(post(json("a", "gauge", labelled)).body.find(R"("rejectedDataPoints":"1")"),
            std::string::npos);
  EXPECT_NE(post(json(text, "gauge", R"({"asInt": 1})")).body.find(R"("rejectedDataPoints":"1")"),
            std::string::npos);
  // Labels of a metric with another name distinguish nothing here.
  EXPECT_EQ(post(json("a", "gauge", R"({"asInt": 2})")).body, "{}");
  EXPECT_EQ(got_.values("a"), std::vector<double>{2});
}

TEST_F(OtlpReceiverTest, BadInputIsRefusedAndLosesNothingElse) {
  open();
  EXPECT_EQ(post("{").status, 400);
  EXPECT_EQ(post("\xff\xff", "application/x-protobuf").status, 400);
  EXPECT_EQ(post("x", "application/json", "Content-Encoding: gzip\r\n").status, 400);
  EXPECT_EQ(post("{}", "text/plain").status, 415);
  EXPECT_EQ(post("{}", "application/json", "", "/v1/traces").status, 404);
  EXPECT_EQ(post("{}", "application/json", "Origin: http://127.0.0.1\r\n").status, 403);
  EXPECT_EQ(post(std::string(OtlpReceiver::kBodyBytes + 1, ' ')).status, 413);
  EXPECT_EQ(post(json("a", "gauge", R"({"asInt": 1})"), "application/json; charset=utf-8").status,
            200);
  EXPECT_EQ(got_.values("a"), std::vector<double>{1});
  EXPECT_EQ(
      problems(),
      (std::vector<std::string>{"was sent what is not understood: Invalid OpenTelemetry format"}));
}

TEST_F(OtlpReceiverTest, ALongTrailerEndsOnlyItsConnection) {
  open();
  TestClient client(port());
  client.send(
      "POST /v1/metrics HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n" +
      http::long_trailer());
  EXPECT_EQ(client.reply().value_or(TestClient::Reply{}).status, 431);
  EXPECT_EQ(post(json("a", "gauge", R"({"asInt": 1})")).status, 200);
}

TEST_F(OtlpReceiverTest, WhatIsOverTheLimitsIsToldToTheClient) {
  source_.max_series = 2;
  source_.labels = {"rank"};
  open();
  std::string points;
  for (int i = 0; i < 5; ++i)
    points +=
        fmt::format(R"({}{{"asInt": 1, {}}})", i > 0 ? "," : "", label("rank", std::to_string(i)));
  EXPECT_NE(post(json("a", "gauge", points)).body.find(R"("rejectedDataPoints":"3")"),
            std::string::npos);
  EXPECT_EQ(got_.names(), (std::vector<std::string>{"a/rank=0", "a/rank=1"}));
  EXPECT_EQ(problems().size(), 1u);
}

TEST_F(OtlpReceiverTest, AUnixSocketIsPrivateAndGoesWithTheRun) {
  const spool::TestDirectory directory;
  const auto path = directory.path() / "otlp.sock";
  open("unix:" + path.string());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  OtlpSources second(std::span(&source_, 1), queue_);
  EXPECT_EQ(second.problems().at(0).message,
            "not available: " + path.string() + ": another process listens there");
  codec::ProtoWriter point;
  point.real(4, 7);
  const codec::ProtoWriter gauge = codec::ProtoWriter().message(1, point);
  const codec::ProtoWriter metric = codec::ProtoWriter().bytes(1, "a").message(5, gauge);
  const codec::ProtoWriter scope = codec::ProtoWriter().message(2, metric);
  const codec::ProtoWriter resource = codec::ProtoWriter().message(2, scope);
  {
    TestClient client(path);
    const auto reply =
        send(client, codec::ProtoWriter().message(1, resource).text(),
             "POST /v1/metrics HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-protobuf\r\n");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "");
  }
  EXPECT_EQ(got_.values("a"), std::vector<double>{7});
  sources_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace corral::run
