// Output and phases of a run as the page reads them: backwards, by time, by text, by length.
#include <fmt/core.h>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;
using codec::LogStream;

class Output : public HandlerTest {
 protected:
  void SetUp() override { append({writer_.frame(frames::session_body(run_, "supervisor"))}); }
  void append(const std::vector<codec::Frame>& all) {
    const auto result = store_->append(all);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->refusals.empty()) << result->refusals.front().error.message;
  }
  void print(LogStream stream, std::string text, std::int64_t time = 2000) {
    std::int64_t& end = ends_.at(static_cast<std::size_t>(stream) - 1);
    append({writer_.frame(codec::LogBody{boot_time(time), stream, end, text})});
    end += static_cast<std::int64_t>(text.size());
  }
  // About `bytes` of lines "line N ..." in chunks of the size that supervisors send.
  void print_much(std::size_t bytes) {
    std::vector<codec::Frame> some;
    std::string text;
    for (std::int64_t line = 0; bytes > 0; ++line) {
      text += fmt::format("line {} of a long training, loss 0.{}\n", line, line % 997);
      if (text.size() < 60'000) continue;
      bytes -= std::min(bytes, text.size());
      std::int64_t& end = ends_[0];
      some.push_back(
          writer_.frame(codec::LogBody{boot_time(2000 + line), LogStream::kStdout, end, text}));
      end += static_cast<std::int64_t>(text.size());
      text.clear();
      if (some.size() == 32 || bytes == 0) append(std::exchange(some, {}));
    }
  }
  [[nodiscard]] std::string logs(std::string_view query) const {
    return fmt::format("/api/corral/v1/runs/{}/logs{}", run_.hex(), query);
  }
  Json get(const std::string& target) { return ok(Method::kGet, target); }
  static std::string texts(const Json& page) {
    std::string all;
    for (const Json& chunk : *page.find("chunks")->as_array()) all += chunk.get_string("text");
    return all;
  }
  static std::string field_of(const Response& response) {
    return json_of(response).find("error")->get_string("field");
  }

  const RunId run_ = RunId::random();
  frames::SessionWriter writer_;
  std::array<std::int64_t, 3> ends_{};
};

TEST_F(Output, IsReadBackwardsAndForwards) {
  for (char c = 'a'; c <= 'j'; ++c)
    print(c % 2 != 0 ? LogStream::kStdout : LogStream::kStderr, std::string(1, c), 2000 + c);
  Json page = get(logs("?tail=3"));
  EXPECT_EQ(texts(page), "hij");
  EXPECT_EQ(page.find("gaps")->dump(), "[]") << "what comes before was kept";
  EXPECT_EQ(page.find("end")->dump(), R"({"stdout":"5","stderr":"5"})");
  const std::string live = page.get_string("next");
  EXPECT_EQ(texts(get(logs("?from=" + live))), "");
  page = get(logs("?limit=3&before=" + page.get_string("prev")));
  EXPECT_EQ(texts(page), "efg");
  EXPECT_EQ(texts(get(logs("?limit=2&from=" + page.get_string("next")))), "hi");
  page = get(logs("?limit=9&before=" + page.get_string("prev")));
  EXPECT_EQ(texts(page), "abcd");
  EXPECT_TRUE(page.find("prev")->is_null());
  EXPECT_TRUE(get(logs("")).find("prev")->is_null());
  print(LogStream::kStdout, "new");
  EXPECT_EQ(texts(get(logs("?from=" + live))), "new");
  EXPECT_EQ(texts(get(logs("?stream=stderr&tail=2"))), "hj");
  EXPECT_EQ(texts(get(logs("?stream=tty&tail=2"))), "");
  page = get(logs("?limit=2&at_ns=" + std::to_string(frames::kUtcMinusBoot + 2000 + 'd')));
  EXPECT_EQ(texts(page), "de");
  EXPECT_EQ(texts(get(logs("?limit=2&before=" + page.get_string("prev")))), "bc");
}

TEST_F(Output, GapsAreSeenFromEverySide) {
  print(LogStream::kStdout, "before");
  ends_[0] = 100;
  print(LogStream::kStdout, "after");
  const std::string gap = R"([{"stream":"stdout","from":"6","to":"100"}])";
  EXPECT_EQ(get(logs("")).find("gaps")->dump(), gap);
  const Json page = get(logs("?tail=1"));
  EXPECT_EQ(page.find("gaps")->dump(), gap);
  EXPECT_EQ(get(logs("?before=" + page.get_string("next"))).find("gaps")->dump(), gap);
  EXPECT_EQ(get(logs("?before=" + page.get_string("prev"))).find("gaps")->dump(), "[]");
}

TEST_F(Output, SaysWhichParameterIsWrong) {
  const auto refused = [&](std::string_view query) {
    const Response response = send(Method::kGet, logs(query));
    EXPECT_EQ(response.status, 400) << query;
    return field_of(response);
  };
  EXPECT_EQ(refused("?tail=0"), "tail");
  EXPECT_EQ(refused("?tail=257"), "tail");
  EXPECT_EQ(refused("?before=x"), "before");
  EXPECT_EQ(refused("?from=1.2"), "from");
  EXPECT_EQ(refused("?at_ns=now"), "at_ns");
  EXPECT_EQ(refused("?from=1&tail=1"), "tail");
  EXPECT_EQ(refused("/search"), "text");
  EXPECT_EQ(refused("/search?text="), "text");
  EXPECT_EQ(refused("/search?text=" + std::string(1001, 'x')), "text");
  EXPECT_EQ(refused("/search?text=(&regex=1"), "text");
  EXPECT_EQ(refused("/search?text=a&regex=2"), "regex");
  EXPECT_EQ(refused("/search?text=a&case=x"), "case");
  EXPECT_EQ(refused("/search?text=a&stream=x"), "stream");
  EXPECT_EQ(refused("/search?text=a&from=x"), "from");
  EXPECT_EQ(refused("/search?text=a&limit=1001"), "limit");
}

TEST_F(Output, AMatchLeadsToItsChunk) {
  print(LogStream::kStdout, "epoch 1\nlo");
  print(LogStream::kStderr, "warn");
  print(LogStream::kStdout, "ss 0.5\n", 5000);
  print(LogStream::kStderr, "ing: LOSS\n");
  const Json found = get(logs("/search?text=loss"));
  ASSERT_EQ(found.find("matches")->as_array()->size(), 2U) << found.dump();
  const Json& first = found.find("matches")->as_array()->at(0);
  EXPECT_EQ(first.get_string("stream"), "stdout");
  EXPECT_EQ(first.get_string("line"), "loss 0.5");
  EXPECT_EQ(first.get_string("offset"), "8");
  EXPECT_EQ(first.get_int("column"), 0);
  EXPECT_EQ(first.get_int("length"), 4);
  EXPECT_EQ(first.get_string("time_ns"), std::to_string(frames::kUtcMinusBoot + 2000));
  const Json& second = found.find("matches")->as_array()->at(1);
  EXPECT_EQ(second.get_string("line"), "warning: LOSS");
  EXPECT_TRUE(texts(get(logs("?from=" + second.get_string("cursor")))).starts_with("warn"));
  EXPECT_EQ(texts(get(logs("?before=" + second.get_string("cursor")))), "epoch 1\nlo");
  EXPECT_TRUE(found.find("next")->is_null());
  EXPECT_TRUE(*found.find("done")->as_bool());
  EXPECT_EQ(found.get_string("searched_bytes"), "31");
  EXPECT_EQ(get(logs("/search?text=loss&case=1")).find("matches")->as_array()->size(), 1U);
  EXPECT_EQ(get(logs("/search?text=loss&stream=stderr")).find("matches")->as_array()->size(), 1U);
  EXPECT_EQ(get(logs("/search?text=%5Ew.*S$&regex=1")).find("matches")->as_array()->size(), 1U);
}

TEST_F(Output, ASearchGoesOnWhereItStopped) {
  std::string wanted;
  for (int i = 0; i < 50; ++i) {  // every line spans chunks of both streams
    print(LogStream::kStdout, fmt::format("-\nout {} hi", i));
    print(LogStream::kStderr, fmt::format("-\nerr {} hi", i));
    print(LogStream::kStdout, fmt::format("t {}\n", i));
    print(LogStream::kStderr, fmt::format("t {}\n", i));
    wanted += fmt::format("out {0} hit {0};err {0} hit {0};", i);
  }
  for (const int limit : {1, 3, 1000}) {
    std::string got;
    std::string from;
    for (int answers = 0; answers < 200; ++answers) {
      const Json found = get(logs(fmt::format("/search?text=hit&limit={}&from={}", limit, from)));
      for (const Json& match : *found.find("matches")->as_array())
        got += match.get_string("line") + ";";
      EXPECT_LE(found.find("matches")->as_array()->size(), static_cast<std::size_t>(limit));
      from = found.get_string("next");
      if (from.empty()) break;
    }
    EXPECT_EQ(got, wanted) << limit;
  }
  // A cursor that no answer contained, after all chunks and before all bytes, loses nothing either.
  std::size_t matches = 0;
  std::string from = "999999.0.0.0";
  for (int answers = 0; answers < 200 && !from.empty(); ++answers) {
    const Json found = get(logs("/search?text=hit&limit=7&from=" + from));
    matches += found.find("matches")->as_array()->size();
    from = found.get_string("next");
  }
  EXPECT_EQ(matches, 100U);
}

// 16 MiB of each stream are kept, so that this is what any output becomes.
TEST_F(Output, OfALongOutputLittleIsReadAtATime) {
  print_much(std::size_t{20} << 20);
  const auto read = [&](std::string_view query) { return get(logs(query)); };
  const Json last = read("?tail=2");
  EXPECT_EQ(last.find("chunks")->as_array()->size(), 2U);
  EXPECT_LT(texts(last).size(), 130'000U);
  EXPECT_EQ(last.find("end")->get_string("stdout"), std::to_string(ends_[0]));
  EXPECT_EQ(read("?limit=4&before=" + last.get_string("prev")).find("chunks")->as_array()->size(),
            4U);
  // Everything is found, in answers that each take their share.
  std::size_t matches = 0;
  std::int64_t bytes = 0;
  std::string from;
  do {
    const Json found = read("/search?text=loss%200.996&case=1&limit=1000&from=" + from);
    matches += found.find("matches")->as_array()->size();
    bytes += found.get_int("searched_bytes");
    from = found.get_string("next");
  } while (!from.empty());
  EXPECT_GT(bytes, 15 << 20);
  EXPECT_LT(bytes, (16 << 20) + (1 << 20));
  std::int64_t kept = 0;
  std::string cursor;
  for (bool more = true; more;) {
    const Json page = read("?from=" + cursor);
    const std::string text = texts(page);
    for (std::size_t at = 0; (at = text.find("loss 0.996\n", at)) != std::string::npos; ++at)
      ++kept;
    cursor = page.get_string("next");
    more = !page.find("chunks")->as_array()->empty();
  }
  EXPECT_EQ(static_cast<std::int64_t>(matches), kept);
  EXPECT_GT(kept, 100);
}

TEST_F(Output, PhasesOfAWindowAndTheirFigures) {
  const auto phase = [&](std::uint64_t id, std::uint64_t parent, std::string name,
                         std::int64_t begin, std::int64_t end) {
    codec::PhaseRecord record;
    record.id = id;
    record.parent = parent;
    record.begin = boot_time(begin * 1'000'000'000);
    record.end = boot_time(end * 1'000'000'000);
    record.name = std::move(name);
    record.lane = "node7/1/main";
    append({writer_.frame(codec::PhasesBody{{record}})});
  };
  phase(1, 0, "epoch", 0, 10);
  phase(2, 1, "step", 0, 2);
  phase(3, 1, "step", 4, 8);
  const std::string target = "/api/corral/v1/runs/" + run_.hex() + "/phases";
  const auto ns = [](std::int64_t second) {
    return std::to_string(frames::kUtcMinusBoot + second * 1'000'000'000);
  };
  const auto summary = [&](const std::string& query) {
    const Json found = ok(Method::kGet, target + query);
    return fmt::format("{} {}", found.find("phases")->as_array()->size(),
                       found.get_int("left_out"));
  };
  EXPECT_EQ(summary(""), "3 0");
  EXPECT_EQ(summary("?from_ns=" + ns(2) + "&to_ns=" + ns(4)), "1 0");
  EXPECT_EQ(summary("?shortest_s=2.5"), "2 1");
  EXPECT_EQ(summary("?limit=1"), "1 2");
  EXPECT_EQ(field_of(send(Method::kGet, target + "?from_ns=5&to_ns=5")), "to_ns");
  EXPECT_EQ(field_of(send(Method::kGet, target + "?shortest_s=-1")), "shortest_s");
  EXPECT_EQ(field_of(send(Method::kGet, target + "?shortest_s=NaN")), "shortest_s");
  EXPECT_EQ(field_of(send(Method::kGet, target + "?limit=0")), "limit");

  const auto statistics = [&](const std::string& members) {
    return ok(Method::kPost, "/api/corral/v1/phases/statistics",
              fmt::format(R"({{"runs":["{}"]{}}})", run_.hex(), members))
        .find("runs")
        ->as_array()
        ->at(0);
  };
  const Json whole = statistics(R"(,"from_ns":")" + ns(0) + R"(","to_ns":")" + ns(20) + "\"");
  EXPECT_EQ(whole.get_string("run"), run_.hex());
  EXPECT_EQ(whole.find("phases")->as_array()->at(1).dump(),
            R"({"lane":"node7/1/main","path":["epoch","step"],"count":2,"open":0,"total_s":6,)"
            R"("mean_s":3,"min_s":2,"max_s":4,"deviation_s":1.4142135623730951,"share":0.3})");
  const Json relative =
      statistics(R"(,"origins_ns":[")" + ns(5) + R"("],"from_ns":0,"to_ns":"2000000000")");
  EXPECT_EQ(relative.find("phases")->as_array()->at(1).find("share")->as_double(0), 1.0);
  EXPECT_EQ(relative.find("window_s")->as_double(0), 2.0);
  EXPECT_EQ(field_of(send(Method::kPost, "/api/corral/v1/phases/statistics", "{}")), "runs");
  EXPECT_EQ(field_of(send(Method::kPost, "/api/corral/v1/phases/statistics",
                          R"({"runs":["@1"],"origins_ns":[1,2]})")),
            "origins_ns");
}

}  // namespace
}  // namespace corral::server
