// Tests Prometheus' remote read with requests and answers written by hand; a real Prometheus asks
// in tests/e2e/test_prometheus.py.
#include "query/export/remote_read.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <snappy-c.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "codec/protobuf.h"
#include "query/series/test_store.h"

namespace corral::query {
namespace {

using codec::ProtoField;
using codec::ProtoReader;
using codec::ProtoWire;
using codec::ProtoWriter;
using store::testing::samples;
using store::testing::series_def;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kBegin = store::testing::kUtcMinusBoot / kMs;  // ms of boot time 0

struct Match {
  int type = 0;  // =, !=, =~, !~
  std::string name, value;
};
struct Range {
  std::int64_t start = kBegin, end = kBegin + 1'000'000;
};
// Labels as "name=value ..." but for those of every series, and "ms:value ..."
using Answer = std::map<std::string, std::string>;

std::string packed(const std::string& text) {
  std::size_t size = ::snappy_max_compressed_length(text.size());
  std::string out(size, '\0');
  EXPECT_EQ(::snappy_compress(text.data(), text.size(), out.data(), &size), SNAPPY_OK);
  out.resize(size);
  return out;
}

std::string unpacked(const std::string& text) {
  std::size_t size = 0;
  EXPECT_EQ(::snappy_uncompressed_length(text.data(), text.size(), &size), SNAPPY_OK);
  std::string out(size, '\0');
  EXPECT_EQ(::snappy_uncompress(text.data(), text.size(), out.data(), &size), SNAPPY_OK);
  return out;
}

std::string request(const std::vector<Match>& matches, Range range = {}) {
  ProtoWriter query;
  query.number(1, static_cast<std::uint64_t>(range.start));
  query.number(2, static_cast<std::uint64_t>(range.end));
  for (const Match& match : matches) {
    ProtoWriter matcher;
    matcher.number(1, static_cast<std::uint64_t>(match.type));
    query.message(3, matcher.bytes(2, match.name).bytes(3, match.value));
  }
  return packed(ProtoWriter().message(1, query).text());
}

std::string sample_text(std::string_view bytes) {
  double value = 0;
  std::int64_t ms = 0;
  ProtoReader reader(bytes);
  for (ProtoField field; reader.next(field);) {
    if (field.is(1, ProtoWire::kFixed64)) value = field.real();
    if (field.is(2, ProtoWire::kVarint)) ms = static_cast<std::int64_t>(field.value);
  }
  if (std::isnan(value))
    return fmt::format("{}:{:x}", ms - kBegin, std::bit_cast<std::uint64_t>(value));
  return fmt::format("{}:{}", ms - kBegin, value);
}

std::string label_text(std::string_view bytes) {
  std::string name, value;
  ProtoReader reader(bytes);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) name = field.bytes;
    if (field.number == 2) value = field.bytes;
  }
  return name + "=" + value;
}

Answer answer_of(const std::string& response) {
  const std::string text = unpacked(response);
  Answer answer;
  ProtoReader results(text);
  for (ProtoField result; results.next(result);) {
    ProtoReader all(result.bytes);
    for (ProtoField one; all.next(one);) {
      std::string labels, points, last;
      ProtoReader parts(one.bytes);
      for (ProtoField part; parts.next(part);) {
        const std::string label = part.number == 1 ? label_text(part.bytes) : "";
        if (part.number == 2) points += (points.empty() ? "" : " ") + sample_text(part.bytes);
        if (label.empty()) continue;
        EXPECT_LT(last, label) << "labels come in order";
        last = label;
        if (label.starts_with("__name__") || label.starts_with("source") ||
            label.starts_with("corral_metric") || label.starts_with("owner"))
          labels += (labels.empty() ? "" : " ") + label;
      }
      answer[labels] = points;
    }
  }
  return answer;
}

class RemoteReads : public ::testing::Test {
 protected:
  RunId log(const std::string& name, const std::string& metric,
            const std::vector<std::pair<std::int64_t, double>>& points) {
    const RunId run = RunId::random();
    auto writer = store_.begin(run, {series_def(1, metric)}, name);
    store_.append({writer.frame(samples(1, points))});
    return run;
  }
  Result<std::string> read(const std::string& text) {
    return TRY(RemoteRead::parse(text)).answer(*store_, [] { return false; });
  }
  Answer ask(const std::vector<Match>& matches, Range range = {}) {
    const auto answer = read(request(matches, range));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? answer_of(*answer) : Answer();
  }
  Error refused(const std::string& text) {
    const auto answer = read(text);
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }

  testing::TestStore store_;
};

TEST_F(RemoteReads, GivesThePointsOfTheTimeThatIsAskedFor) {
  log("otter", "train/loss", {{10 * kMs, 0.5}, {20 * kMs, 0.25}, {30 * kMs, -1.0}});
  const std::vector<Match> loss = {{0, "__name__", "train_loss"}};
  EXPECT_EQ(ask(loss), (Answer{{"__name__=train_loss", "10:0.5 20:0.25 30:-1"}}));
  EXPECT_EQ(ask(loss, {kBegin + 20, kBegin + 20}), (Answer{{"__name__=train_loss", "20:0.25"}}));
  EXPECT_EQ(ask(loss, {kBegin + 11, kBegin + 19}), Answer());
  EXPECT_EQ(ask({{0, "corral_metric", "train/loss"}}).size(), 1U);
  EXPECT_EQ(ask({{0, "__name__", "train/loss"}}), Answer());
}

TEST_F(RemoteReads, OfAMillisecondGivesTheLastPoint) {
  log("otter", "loss",
      {{10 * kMs, 1.0}, {10 * kMs + 1, 2.0}, {10 * kMs + 999'999, 3.0}, {11 * kMs, 4.0}});
  EXPECT_EQ(ask({{0, "__name__", "loss"}}), (Answer{{"__name__=loss", "10:3 11:4"}}));
}

TEST_F(RemoteReads, ANanIsNoEndOfTheSeries) {
  const auto stale = std::bit_cast<double>(std::uint64_t{0x7ff0000000000002});
  log("otter", "loss",
      {{10 * kMs, stale}, {11 * kMs, std::numeric_limits<double>::infinity()}, {12 * kMs, -0.0}});
  EXPECT_EQ(ask({{0, "__name__", "loss"}}),
            (Answer{{"__name__=loss", "10:7ff8000000000001 11:inf 12:-0"}}));
}

TEST_F(RemoteReads, LabelsSelectAsPrometheusMeansIt) {
  const RunId otter = log("otter", "loss", {{10 * kMs, 1.0}});
  log("lynx", "loss", {{10 * kMs, 2.0}});
  const auto value = [&](const std::vector<Match>& matches) {
    const Answer answer = ask(matches);
    return answer.empty() ? std::string() : answer.begin()->second;
  };
  EXPECT_EQ(value({{0, "run", otter.hex()}}), "10:1");
  EXPECT_EQ(value({{0, "run_name", "lynx"}}), "10:2");
  EXPECT_EQ(value({{0, "__name__", "loss"}, {1, "run_name", "lynx"}}), "10:1");
  EXPECT_EQ(value({{2, "run_name", "ot+er"}}), "10:1");
  EXPECT_EQ(value({{2, "run_name", "tter"}}), "") << "of the whole value";
  EXPECT_EQ(value({{0, "__name__", "loss"}, {3, "run_name", "l.*"}}), "10:1");
  EXPECT_EQ(value({{0, "run_name", "otter"}, {0, "source", ""}}), "10:1") << "absent is empty";
  EXPECT_EQ(value({{0, "run_name", "otter"}, {1, "source", ""}}), "");
  EXPECT_EQ(value({{0, "run_name", "otter"}, {0, "experiment", "digits"}}), "10:1");
  EXPECT_EQ(value({{0, "run_name", "otter"}, {0, "experiment", "other"}}), "");
  EXPECT_EQ(value({{0, "run_name", "otter"}, {0, "host", "node7"}}), "10:1");
  EXPECT_EQ(value({{0, "run", "nonsense"}}), "");
}

TEST_F(RemoteReads, PointsBeforeTheRunsStartAreGiven) {
  const RunId run = RunId::random();
  auto writer = store_.begin(run, {series_def(1, "loss")}, "otter", 500 * kMs);
  store_.append({writer.frame(samples(1, {{10 * kMs, 1.0}}))});
  EXPECT_EQ(ask({{0, "__name__", "loss"}}, {kBegin, kBegin + 20}),
            (Answer{{"__name__=loss", "10:1"}}));
}

TEST_F(RemoteReads, MetricsThatGetOneNameAreToldApart) {
  const RunId run = RunId::random();
  auto host = series_def(3, "a.b");
  host.owner = metric::Owner::kWorkload;
  auto writer = store_.begin(run, {series_def(1, "a.b"), series_def(2, "a/b"), host});
  for (std::uint32_t id = 1; id <= 3; ++id)
    store_.append({writer.frame(samples(id, {{10 * kMs, id * 1.0}}))});
  const Answer all{{"__name__=a_b corral_metric=a.b", "10:1"},
                   {"__name__=a_b corral_metric=a/b", "10:2"},
                   {"__name__=a_b owner=workload", "10:3"}};
  Answer seen;
  for (const auto& [labels, points] : ask({{0, "__name__", "a_b"}}))
    seen[labels.starts_with("corral")
             ? labels.substr(labels.find("__name__")) + " " + labels.substr(0, labels.find(' '))
             : labels] = points;
  EXPECT_EQ(seen, all);
  EXPECT_EQ(ask({{0, "corral_metric", "a/b"}}).size(), 1U);
}

TEST_F(RemoteReads, WhoHasLeftGetsNoAnswer) {
  log("otter", "loss", {{10 * kMs, 1.0}});
  const auto asked = RemoteRead::parse(request({{0, "__name__", "loss"}})).value();
  EXPECT_EQ(asked.answer(*store_, [] { return true; }).error().code, Code::kUnavailable);
}

TEST_F(RemoteReads, AQueryMustSelect) {
  const auto code = [&](const std::vector<Match>& matches) {
    return refused(request(matches)).code;
  };
  EXPECT_EQ(code({}), Code::kUnprocessable);
  EXPECT_EQ(code({{0, "source", "gpu0"}}), Code::kUnprocessable);
  EXPECT_EQ(code({{1, "run", "x"}}), Code::kUnprocessable) << "it leaves nearly nothing out";
  EXPECT_EQ(code({{2, "__name__", ".*"}}), Code::kUnprocessable);
  EXPECT_EQ(code(std::vector<Match>(21, {2, "run", "x"})), Code::kUnprocessable);
  EXPECT_EQ(code({{2, "run", std::string(1001, 'x')}}), Code::kUnprocessable);
  EXPECT_EQ(code({{2, "run", "("}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{4, "run", "x"}}), Code::kInvalidArgument);
}

TEST_F(RemoteReads, OtherBytesAreRefused) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("\xff\xff\xff\xff\xff\xff\xff"),
        std::string("{\"queries\": []}"), packed("nonsense")})
    EXPECT_EQ(refused(text).code, Code::kInvalidArgument);
  EXPECT_EQ(refused(packed(std::string(kMostRemoteRequest + 1, '\0'))).code, Code::kTooLarge);
  EXPECT_EQ(ask({{0, "run", RunId::random().hex()}}), Answer());
  EXPECT_TRUE(read(packed(""))) << "no queries";
}

TEST_F(RemoteReads, ManyPointsAreRefusedAndNotCutOff) {
  const RunId run = RunId::random();
  auto writer = store_.begin(run, {series_def(1, "loss")});
  constexpr std::int64_t kFrame = 50'000;
  for (std::int64_t at = 0; at <= static_cast<std::int64_t>(kMostRemoteSamples); at += kFrame) {
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::int64_t i = at; i < at + kFrame; ++i) points.emplace_back(i * kMs, 1.0);
    store_.append({writer.frame(samples(1, points))});
  }
  const Error error = refused(request({{0, "__name__", "loss"}}, {kBegin, kBegin + 10'000'000}));
  EXPECT_EQ(error.code, Code::kUnprocessable);
  EXPECT_EQ(error.message, "more than 1000000 points match: give more labels or less time");
}

TEST(PrometheusName, IsOneThatPrometheusTakes) {
  EXPECT_EQ(prometheus_name("loss"), "loss");
  EXPECT_EQ(prometheus_name("gpu.power.watts"), "gpu_power_watts");
  EXPECT_EQ(prometheus_name("1st"), "_1st");
  EXPECT_EQ(prometheus_name("ü"), "__");
  EXPECT_EQ(prometheus_name(""), "_");
}

}  // namespace
}  // namespace corral::query
