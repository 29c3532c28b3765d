// Handlers over the real SQLite store, without a socket.

#include <algorithm>
#include <limits>
#include <semaphore>
#include <set>
#include <string>
#include <tuple>

#include "core/json.h"
#include "server/api/requests.h"
#include "server/core/test_handlers.h"
#include "store/test_frames.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

class Api : public HandlerTest {
 protected:
  Response get(std::string_view target) {
    Request request;
    EXPECT_TRUE(parse_target(target, request));
    Response response = route(std::move(request), *context_);
    return response.late ? response.late([] { return false; }) : response;
  }
  Json get_json(std::string_view target, int status = 200) {
    const Response response = get(target);
    EXPECT_EQ(response.status, status) << response.body;
    auto json = Json::parse(response.body);
    EXPECT_TRUE(json) << response.body;
    if (!json) return {};
    return *std::move(json);
  }
  Response post(std::string_view target, std::string body) {
    Request request;
    request.method = Method::kPost;
    EXPECT_TRUE(parse_target(target, request));
    request.body = std::move(body);
    return route(std::move(request), *context_);
  }
  static std::string bytes_of(const codec::Frame& frame) {
    return {reinterpret_cast<const char*>(frame.raw.data()), frame.raw.size()};
  }
  // A run with two losses, an event, a phase and output; its frames posted as a client does.
  void fill() {
    std::string body = bytes_of(writer_.frame(frames::session_body(run_, "supervisor")));
    codec::SchemaBody schema;
    schema.series = {frames::series_def(1, "loss")};
    body += bytes_of(writer_.frame(schema));
    body += bytes_of(writer_.frame(frames::samples(1, {{2000, 0.5}, {3000, 0.25}}, {1, 2})));
    codec::PhaseRecord phase;
    phase.id = 1;
    phase.begin = boot_time(1500);
    phase.name = "epoch";
    phase.type = "epoch";
    phase.lane = "node7/4711/main";
    phase.attributes = {{"index", "3"}};
    body += bytes_of(writer_.frame(codec::PhasesBody{{phase}}));
    body += bytes_of(writer_.frame(
        codec::EventsBody{{{boot_time(2500), "checkpoint", "user", {{"ok", "true"}}}}}));
    body += bytes_of(
        writer_.frame(codec::LogBody{boot_time(1600), codec::LogStream::kStdout, 0, "hello\n"}));
    body += bytes_of(writer_.frame(
        codec::LogBody{boot_time(1700), codec::LogStream::kStdout, 100, "after a gap\n"}));
    codec::FactsBody facts;
    facts.facts = {{codec::FactKind::kParam, "lr", "0.1"},
                   {codec::FactKind::kInfo, "command", R"(["python3","train.py"])"},
                   {codec::FactKind::kInfo, "cpus", "8"},
                   {codec::FactKind::kUnavailable, "run.io", "no permission"},
                   {codec::FactKind::kDrop, "points", "7"}};
    body += bytes_of(writer_.frame(facts));
    const Response response = post("/api/corral/v1/frames", std::move(body));
    ASSERT_EQ(response.status, 200) << response.body;
  }
  [[nodiscard]] std::string run_path() const { return "/api/corral/v1/runs/" + run_.hex(); }

  const RunId run_ = RunId::random();
  frames::SessionWriter writer_;
};

Json at(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  EXPECT_NE(found, nullptr) << key << " in " << json.dump();
  if (found == nullptr) return {};
  return *found;
}
Json first(const Json& json, std::string_view key) {
  const Json list = at(json, key);
  const Json::Array* array = list.as_array();
  EXPECT_TRUE(array != nullptr && !array->empty()) << key << " in " << json.dump();
  if (array == nullptr || array->empty()) return {};
  return array->front();
}

TEST_F(Api, FramesAreAcknowledgedAndAResendIsHarmless) {
  const std::string body = bytes_of(writer_.frame(frames::session_body(run_)));
  for (int i = 0; i < 2; ++i) {
    const Response response = post("/api/corral/v1/frames", body);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, R"({"acks":[{"session":")" + writer_.id().hex() +
                                 R"(","durable_seq":"1"}],"refused":[]})");
  }
  const Json session = get_json("/api/corral/v1/sessions/" + writer_.id().hex());
  EXPECT_EQ(at(session, "known").dump(), "true");
  EXPECT_EQ(session.get_string("durable_seq"), "1");
}

TEST_F(Api, AnUnknownSessionStandsAtZero) {
  const Json session = get_json("/api/corral/v1/sessions/" + SessionId::random().hex());
  EXPECT_EQ(at(session, "known").dump(), "false");
  EXPECT_EQ(session.get_string("durable_seq"), "0");
  EXPECT_EQ(get("/api/corral/v1/sessions/xyz").status, 400);
}

TEST_F(Api, ABodyThatIsNoFramesNamesThePosition) {
  std::string body = bytes_of(writer_.frame(frames::session_body(run_)));
  const auto good = static_cast<std::int64_t>(body.size());
  const Response garbage = post("/api/corral/v1/frames", body + std::string(100, 'x'));
  EXPECT_EQ(garbage.status, 400);
  EXPECT_EQ(at(*Json::parse(garbage.body), "error").get_int("position"), good) << garbage.body;
  const Response cut = post("/api/corral/v1/frames", body + body.substr(0, body.size() - 1));
  EXPECT_EQ(cut.status, 400);
  EXPECT_EQ(at(*Json::parse(cut.body), "error").get_int("position"), good) << cut.body;
  // Nothing of such a body is stored.
  EXPECT_EQ(at(get_json("/api/corral/v1/sessions/" + writer_.id().hex()), "known").dump(), "false");
}

TEST_F(Api, ACorruptFrameIsRefusedAndOtherSessionsAreStored) {
  frames::SessionWriter other;
  std::string bad = bytes_of(writer_.frame(frames::session_body(run_)));
  bad.back() = static_cast<char>(bad.back() ^ 1);
  const Response response = post(
      "/api/corral/v1/frames", bad + bytes_of(other.frame(frames::session_body(RunId::random()))));
  EXPECT_EQ(response.status, 422) << response.body;
  const Json json = *Json::parse(response.body);
  EXPECT_EQ(first(json, "acks").get_string("session"), other.id().hex());
  const Json refused = first(json, "refused");
  EXPECT_EQ(refused.get_int("index"), 0);
  EXPECT_EQ(refused.get_string("session"), writer_.id().hex());
  EXPECT_EQ(refused.get_int("first"), 1);
  EXPECT_EQ(refused.get_int("last"), 1);
  EXPECT_EQ(refused.get_string("code"), "corruption");
}

TEST_F(Api, AFrameOutOfOrderIsAConflict) {
  writer_.seek(5);
  const Response response =
      post("/api/corral/v1/frames", bytes_of(writer_.frame(frames::session_body(run_))));
  EXPECT_EQ(response.status, 409) << response.body;
  EXPECT_EQ(first(*Json::parse(response.body), "refused").get_string("code"), "conflict");
}

TEST_F(Api, ClocksAreThoseOfTheStoreAndOfTheHostsOfARun) {
  const Json now = get_json("/api/corral/v1/clock");
  EXPECT_EQ(now.get_string("boot"), sys::boot_id());
  EXPECT_NEAR(std::stod(now.get_string("now_ns")), static_cast<double>(ns_of(sys::utc_now())),
              60e9);
  fill();
  const Json none = get_json(run_path() + "/clocks");
  EXPECT_TRUE(none.find("first")->is_null());
  codec::SchemaBody schema;
  schema.series = {frames::series_def(11, "corral.clock.offset"),
                   frames::series_def(12, "corral.clock.error")};
  std::string body = bytes_of(writer_.frame(schema));
  body += bytes_of(writer_.frame(frames::samples(11, {{2000, 0.25}, {3000, 0.5}})));
  body += bytes_of(writer_.frame(frames::samples(12, {{2000, 0.001}, {3000, 0.002}})));
  ASSERT_EQ(post("/api/corral/v1/frames", std::move(body)).status, 200);
  const Json found = get_json(run_path() + "/clocks");
  EXPECT_EQ(found.get_string("first"), "node7");
  const Json::Array& clocks = *found.find("clocks")->as_array();
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_EQ(clocks[0].get_string("host"), "node7");
  const Json::Array& points = *clocks[0].find("points")->as_array();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].get_string("time_ns"), std::to_string(ns_of(frames::utc(3000))));
  EXPECT_EQ(points[1].find("offset_s")->as_double(0), 0.5);
  EXPECT_EQ(points[1].find("error_s")->as_double(0), 0.002);
}

TEST_F(Api, RunsAreListedWithLossAndCommand) {
  fill();
  const Json list = get_json("/api/corral/v1/runs?status=running&limit=1");
  const Json run = first(list, "runs");
  EXPECT_EQ(run.get_string("id"), run_.hex());
  EXPECT_EQ(run.get_string("experiment"), "digits");
  EXPECT_EQ(run.get_string("status"), "running");
  EXPECT_EQ(at(run, "command").dump(), R"(["python3","train.py"])");
  EXPECT_EQ(at(run, "loss").dump(), R"({"metric":"loss","value":0.25,"step":2})");
  EXPECT_TRUE(at(run, "workload").is_null());
  EXPECT_TRUE(at(run, "end_ns").is_null());
  EXPECT_TRUE(at(list, "next").is_null());
  EXPECT_EQ(list.get_int("total"), 1);
  EXPECT_EQ(get_json("/api/corral/v1/runs?status=finished").get_int("total"), 0);
}

TEST_F(Api, PagesOfRunsFollowEachOther) {
  std::set<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    frames::SessionWriter writer;
    ASSERT_EQ(post("/api/corral/v1/frames",
                   bytes_of(writer.frame(frames::session_body(RunId::random(), "supervisor"))))
                  .status,
              200);
  }
  std::string before;
  for (int page = 0; page < 3; ++page) {
    const Json list = get_json("/api/corral/v1/runs?limit=1&before=" + before);
    EXPECT_TRUE(seen.insert(first(list, "runs").get_string("id")).second);
    before = list.get_string("next");
  }
  EXPECT_EQ(before, "");
}

TEST_F(Api, ARunIsShownWhole) {
  fill();
  const Json run = get_json("/api/corral/v1/runs/" + run_.hex().substr(0, 8));
  EXPECT_EQ(at(run, "params").get_string("lr"), "0.1");
  EXPECT_EQ(at(run, "info").get_int("cpus"), 8);
  EXPECT_EQ(first(run, "unavailable").get_string("reason"), "no permission");
  EXPECT_EQ(at(run, "drops").dump(), R"({"points":7,"frames":0,"ticks":0})");
  EXPECT_EQ(at(run, "neighbours").dump(), "[]");
  EXPECT_EQ(run.get_string("workload_start_ns"), run.get_string("start_ns"));
  EXPECT_EQ(get_json("/api/corral/v1/runs/%401").get_string("id"), run_.hex());
  EXPECT_EQ(get("/api/corral/v1/runs/nobody").status, 404);
}

TEST_F(Api, MetricsCarryStatistics) {
  fill();
  const Json loss = first(get_json(run_path() + "/metrics"), "metrics");
  EXPECT_EQ(loss.get_string("name"), "loss");
  EXPECT_EQ(loss.get_string("group"), "software");
  EXPECT_EQ(loss.get_int("points"), 2);
  EXPECT_EQ(at(loss, "mean").as_double(0), 0.375);
  EXPECT_EQ(loss.get_string("last_ns"), std::to_string(ns_of(frames::utc(3000))));
}

TEST_F(Api, AnEndThatIsNotFiniteIsTold) {
  fill();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [time, value, told] :
       {std::tuple(4000, nan, "\"NaN\""), std::tuple(5000, 0.5, "0.5"),
        std::tuple(6000, infinity, "\"NaN\"")}) {
    post("/api/corral/v1/frames",
         bytes_of(writer_.frame(frames::samples(1, {{time, value}}, {9}))));
    const Json loss = first(get_json(run_path() + "/metrics"), "metrics");
    EXPECT_EQ(at(loss, "last").dump(), told);
    EXPECT_EQ(at(at(get_json(run_path()), "loss"), "value").dump(), told);
    EXPECT_EQ(at(loss, "min").as_double(0), 0.25) << "over finite values";
  }
}

TEST_F(Api, PhasesEventsAndOutputAreGiven) {
  fill();
  const Json phase = first(get_json(run_path() + "/phases"), "phases");
  EXPECT_EQ(phase.get_string("name"), "epoch");
  EXPECT_TRUE(at(phase, "end_ns").is_null());
  EXPECT_EQ(at(phase, "attributes").dump(), R"({"index":3})");
  EXPECT_EQ(first(get_json(run_path() + "/events"), "events").get_string("name"), "checkpoint");
  const Json logs = get_json(run_path() + "/logs?stream=stdout&limit=1");
  EXPECT_EQ(first(logs, "chunks").get_string("text"), "hello\n");
  EXPECT_EQ(at(logs, "gaps").dump(), "[]");
  const Json rest = get_json(run_path() + "/logs?stream=stdout&from=" + logs.get_string("next"));
  EXPECT_EQ(first(rest, "chunks").get_string("text"), "after a gap\n");
  EXPECT_EQ(at(rest, "gaps").dump(), R"([{"stream":"stdout","from":"6","to":"100"}])");
  EXPECT_EQ(at(rest, "end").get_string("stdout"), "112");
}

TEST_F(Api, ChartsAreBinaryAndExportIsStreamed) {
  fill();
  const std::int64_t series = first(get_json(run_path() + "/metrics"), "metrics").get_int("series");
  const Response chart =
      post("/api/corral/v1/charts", R"({"series":[)" + std::to_string(series) + R"(],"width":10})");
  ASSERT_EQ(chart.status, 200) << chart.body;
  EXPECT_EQ(chart.body.substr(0, 4), "CRCH");
  EXPECT_EQ(post("/api/corral/v1/charts", R"({"series":[4711],"width":10})").status, 404);
  const Response exported = get(run_path() + "/export?metric=lo*&format=csv");
  ASSERT_TRUE(exported.stream);
  const std::string csv = streamed(exported);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3) << csv;
  EXPECT_EQ(get(run_path() + "/export?metric=nothing*").status, 404);
  EXPECT_EQ(get(run_path() + "/export?format=xml").status, 400);
  const Response lines = get(run_path() + "/export?format=jsonl");
  ASSERT_TRUE(lines.stream);
  const std::string text = streamed(lines);
  const auto line = Json::parse(text.substr(0, text.find('\n')));
  ASSERT_TRUE(line) << text;
  EXPECT_EQ(line->get_string("run"), run_.hex());
  EXPECT_EQ(line->get_string("step"), "1");
}

TEST_F(Api, PointsAreStreamedAsColumns) {
  fill();
  const std::string runs = R"({"runs":[")" + run_.hex() + R"("])";
  const Response points =
      post("/api/corral/v1/points", runs + R"(,"metrics":["lo*"],"points":100})");
  ASSERT_TRUE(points.stream) << points.body;
  EXPECT_EQ(streamed(points).substr(0, 4), "CRPT");
  const Json none = *Json::parse(post("/api/corral/v1/points", runs + R"(,"metrics":["x"]})").body);
  EXPECT_EQ(at(none, "error").get_string("code"), "not_found");
  EXPECT_EQ(post("/api/corral/v1/points", R"({"runs":["nobody"]})").status, 404);
}

TEST_F(Api, ARefusedReadNamesTheField) {
  const auto field = [&](std::string body) {
    const Response response = post("/api/corral/v1/points", std::move(body));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_FALSE(response.stream);
    const auto json = Json::parse(response.body);
    return json ? at(*json, "error").get_string("field") : response.body;
  };
  EXPECT_EQ(field("{}"), "runs");
  EXPECT_EQ(field(R"({"runs":[]})"), "runs");
  EXPECT_EQ(field(R"({"runs":"a"})"), "runs");
  EXPECT_EQ(field(R"({"runs":["a",""]})"), "runs");
  EXPECT_EQ(field(R"({"runs":["a",1]})"), "runs");
  std::string many = R"({"runs":["a")";
  for (int i = 0; i < 1000; ++i) many += R"(,"a")";
  EXPECT_EQ(field(many + "]}"), "runs");
  EXPECT_EQ(field(R"({"runs":["a"],"metrics":[]})"), "metrics");
  EXPECT_EQ(field(R"({"runs":["a"],"metrics":[")" + std::string(2000, '*') + R"("]})"), "metrics");
  EXPECT_EQ(field(R"({"runs":["a"],"origin":"mars"})"), "origin");
  EXPECT_EQ(field(R"({"runs":["a"],"from_ns":1.5})"), "from_ns");
  EXPECT_EQ(field(R"({"runs":["a"],"to_ns":"9223372036854775808"})"), "to_ns");
  EXPECT_EQ(field(R"({"runs":["a"],"from_ns":"5","to_ns":"5"})"), "to_ns");
  EXPECT_EQ(field(R"({"runs":["a"],"points":3})"), "points");
  EXPECT_EQ(field(R"({"runs":["a"],"points":32769})"), "points");
  EXPECT_EQ(field(R"({"runs":["a"],"pionts":100})"), "pionts");
  EXPECT_EQ(field("[]"), "");
  EXPECT_EQ(field("{"), "");
}

TEST_F(Api, LinesWindowsAndLatestValues) {
  fill();
  const std::string series =
      std::to_string(first(get_json(run_path() + "/metrics"), "metrics").get_int("series"));
  const Response lines =
      post("/api/corral/v1/lines", R"({"lines":[{"kind":"smooth","series":[)" + series +
                                       R"(],"unit":1e-6},{"kind":"group","series":[)" + series +
                                       R"(]}],"width":2})");
  ASSERT_EQ(lines.status, 200) << lines.body;
  EXPECT_EQ(lines.body.substr(0, 4), "CRLN");
  EXPECT_EQ(lines.body.size(), 32 + 2 * 48 + (1 + 13) * 2 * 8U);
  EXPECT_EQ(post("/api/corral/v1/lines", R"({"lines":[{"series":[4711]}],"width":2})").status, 404);
  EXPECT_EQ(post("/api/corral/v1/lines", R"({"lines":[]})").status, 400);

  const std::string question = R"({"series":[)" + series +
                               R"(],"quantiles":[0,0.5],"axis":"step","from_step":1,"to_step":3})";
  const Response answer = post("/api/corral/v1/windows", question);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json window = first(*Json::parse(answer.body), "windows");
  EXPECT_EQ(window.get_int("count"), 2);
  EXPECT_EQ(at(window, "mean").dump(), "0.375");
  EXPECT_EQ(at(at(window, "max"), "value").dump(), "0.5");
  EXPECT_EQ(at(window, "max").get_string("step"), "1");
  EXPECT_EQ(at(first(window, "quantiles"), "value").dump(), "0.25");
  EXPECT_TRUE(at(window, "integral").is_null()) << "it is over time";
  EXPECT_EQ(post("/api/corral/v1/windows", R"({"series":[4711]})").status, 404);
  const Response whole = post("/api/corral/v1/windows", R"({"series":[)" + series + "]}");
  ASSERT_EQ(whole.status, 200) << whole.body;
  const Json integral = at(first(*Json::parse(whole.body), "windows"), "integral");
  EXPECT_NEAR(at(integral, "covered_s").as_double(0), 1e-6, 1e-12);

  const Json latest = first(get_json(run_path() + "/latest?metric=lo*"), "latest");
  EXPECT_EQ(latest.get_string("name"), "loss");
  EXPECT_EQ(at(latest, "value").dump(), "0.25");
  EXPECT_EQ(latest.get_string("step"), "2");
  EXPECT_EQ(at(get_json(run_path() + "/latest?metric=no"), "latest").dump(), "[]");
}

TEST_F(Api, IngestIsToldToOpenPages) {
  const auto stream = get("/api/corral/v1/stream").events;
  ASSERT_TRUE(stream);
  std::binary_semaphore news(0);
  stream->attach([&] { news.release(); });
  fill();
  std::string seen = stream->drain();
  while (seen.find("event: runs\ndata: {\"runs\":[\"" + run_.hex()) == std::string::npos) {
    ASSERT_TRUE(news.try_acquire_for(std::chrono::seconds(60))) << seen;
    seen += stream->drain();
  }
  stream->attach(nullptr);
}

TEST_F(Api, WrongPathsMethodsAndParametersSayWhatIsWrong) {
  EXPECT_EQ(get("/api/corral/v1/nothing").status, 404);
  EXPECT_EQ(get("/api").status, 404);
  const Response wrong_method = get("/api/corral/v1/frames");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_NE(response_head(wrong_method, Framing::kLength, true).find("Allow: POST\r\n"),
            std::string::npos);
  const Json error = at(get_json("/api/corral/v1/runs?limit=0", 400), "error");
  EXPECT_EQ(error.get_string("field"), "limit");
  EXPECT_EQ(get("/api/corral/v1/runs?status=dancing").status, 400);
  EXPECT_EQ(get("/api/corral/v1/runs?before=x").status, 400);
  EXPECT_EQ(get(run_path() + "/logs?from=1.2").status, 400);
}

TEST_F(Api, ExperimentsAndWorkloadsAreListed) {
  fill();
  const Json experiment = first(get_json("/api/corral/v1/experiments"), "experiments");
  EXPECT_EQ(experiment.get_string("name"), "digits");
  EXPECT_EQ(experiment.get_int("running"), 1);
  const Json workload = first(
      get_json("/api/corral/v1/workloads?experiment=" + experiment.get_string("id")), "workloads");
  EXPECT_EQ(at(workload, "runs").dump(), "[\"" + run_.hex() + "\"]");
  EXPECT_TRUE(at(workload, "name").is_null());
}

// ---- pure parsers

TEST(ChartRequest, ErrorsNameFieldAndPosition) {
  struct Case {
    const char* text;
    const char* field;
    std::optional<std::size_t> position;
  };
  for (const Case& c : {Case{R"({"series":[1],"width":0})", "width", 14},
                        Case{R"({"series":[1],"width":8193})", "width", 14},
                        Case{R"({"series":[1]})", "width", std::nullopt},
                        Case{R"({"width":1,"series":[]})", "series", 11},
                        Case{R"({"width":1,"series":["x"]})", "series", 11},
                        Case{R"({"width":1,"series":[1],"mode":"log"})", "mode", 24},
                        Case{R"({"width":1,"series":[1],"from_ns":"5","to_ns":"5"})", "to_ns", 38},
                        Case{R"({"width":1,"series":[1],"from_ns":1.5})", "from_ns", 24},
                        Case{R"([])", "", 0}, Case{R"({"width":1,)", "", 11}}) {
    const auto request = api::parse_chart_request(c.text);
    ASSERT_FALSE(request) << c.text;
    EXPECT_EQ(request.error().field, c.field) << c.text;
    EXPECT_EQ(request.error().position, c.position) << c.text;
  }
}

TEST(ChartRequest, TimesMayBeStringsNumbersOrAbsent) {
  const auto request = api::parse_chart_request(
      R"({"series":["7",8],"width":3,"from_ns":"1763712000000000000","mode":"rate"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->series, (std::vector<SeriesId>{{7}, {8}}));
  EXPECT_EQ(request->from, 1763712000000000000);
  EXPECT_FALSE(request->to);
  EXPECT_EQ(request->mode, query::ChartMode::kRate);
}

TEST(ChartRequest, OtherAxes) {
  const auto relative = api::parse_chart_request(
      R"({"series":[7,8],"width":3,"axis":"relative","from_ns":"-5","to_ns":"10","origins_ns":["3",4],"exact":false})");
  ASSERT_TRUE(relative);
  EXPECT_EQ(relative->axis, query::ChartAxis::kRelative);
  EXPECT_EQ(relative->origins, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(relative->from, -5);
  EXPECT_FALSE(relative->exact);
  const auto step =
      api::parse_chart_request(R"({"series":[7],"width":3,"axis":"step","to_step":9})");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->axis, query::ChartAxis::kStep);
  EXPECT_EQ(step->to, 9);
  EXPECT_TRUE(step->exact);
  for (const auto& [text, field] :
       {std::pair(R"({"series":[7],"width":3,"axis":"wall"})", "axis"),
        std::pair(R"({"series":[7],"width":3,"axis":"relative"})", "origins_ns"),
        std::pair(R"({"series":[7],"width":3,"axis":"step","from_step":5,"to_step":5})", "to_step"),
        std::pair(R"({"series":[7],"width":3,"exact":"yes"})", "exact"),
        std::pair(R"({"series":[7],"width":3,"foo":1})", "foo"),
        std::pair(R"({"series":[7],"width":3,"from_step":5})", "from_step"),
        std::pair(R"({"series":[7],"width":3,"since":[1,2]})", "since"),
        std::pair(R"({"series":[7],"width":3,"axis":"step","since":[1]})", "since"),
        std::pair(R"({"series":[7],"width":3,"axis":"step","from_ns":"5"})", "from_ns")}) {
    const auto request = api::parse_chart_request(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().field, field) << text;
  }
}

TEST(LineRequest, TakesEveryKind) {
  const auto request = api::parse_line_request(
      R"({"width":9,"axis":"relative","exact":false,"lines":[
        {"kind":"smooth","series":["7"],"origins_ns":["3"],"method":"gaussian","window":0.5},
        {"kind":"integral","series":[7],"origins_ns":[3],"rule":"forward","max_gap_s":2,"mode":"rate"},
        {"kind":"ratio","series":[7,8],"origins_ns":[3,4]},
        {"kind":"group","series":[7,8,9],"origins_ns":[1,2,3],"repetitions":true,"confidence":0.9,"max_hole":2},
        {"series":[7],"origins_ns":[3]},
        {"kind":"compare","series":[7,8],"origins_ns":[1,2],"baseline":[9],"baseline_origins_ns":[3],"as":"ratio"}]})");
  ASSERT_TRUE(request) << request.error().error.message;
  ASSERT_EQ(request->lines.size(), 6U);
  EXPECT_FALSE(request->exact);
  EXPECT_EQ(request->lines[0].smooth.kind, query::Smoothing::kGaussian);
  EXPECT_EQ(request->lines[0].smooth.width, 5e8);
  EXPECT_EQ(request->lines[1].rule, query::IntegralRule::kForward);
  EXPECT_EQ(request->lines[1].max_gap, Nanos(2'000'000'000));
  EXPECT_EQ(request->lines[1].mode, query::ChartMode::kRate);
  EXPECT_EQ(request->lines[2].origins, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(request->lines[3].group.repetitions, true);
  EXPECT_EQ(request->lines[3].group.confidence, 0.9);
  EXPECT_EQ(request->lines[3].group.max_hole, 2U);
  EXPECT_EQ(request->lines[4].kind, analyze::LineKind::kMean);
  EXPECT_EQ(request->lines[5].series.size(), 3U);
  EXPECT_EQ(request->lines[5].origins, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(request->lines[5].baseline, 1U);
  EXPECT_FALSE(request->lines[5].difference);
  const auto steps = api::parse_line_request(
      R"({"width":9,"axis":"step","lines":[{"kind":"smooth","series":[7],"unit":20}]})");
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->lines[0].smooth.unit, 20);
}

TEST(LineRequest, ErrorsNameTheField) {
  for (const auto& [line, field] :
       {std::pair(R"({"series":[]})", "lines[0].series"),
        std::pair(R"({"series":[1,2]})", "lines[0].series"),
        std::pair(R"({"kind":"ratio","series":[1]})", "lines[0].series"),
        std::pair(R"({"kind":"median","series":[1]})", "lines[0].kind"),
        std::pair(R"({"kind":"smooth","series":[1],"alpha":1})", "lines[0].alpha"),
        std::pair(R"({"kind":"smooth","series":[1],"unit":0})", "lines[0].unit"),
        std::pair(R"({"kind":"smooth","series":[1],"method":"mean"})", "lines[0].window"),
        std::pair(R"({"kind":"smooth","series":[1],"method":"loess"})", "lines[0].method"),
        std::pair(R"({"kind":"integral","series":[1],"rule":"simpson"})", "lines[0].rule"),
        std::pair(R"({"kind":"integral","series":[1],"max_gap_s":-1})", "lines[0].max_gap_s"),
        std::pair(R"({"kind":"group","series":[1],"confidence":95})", "lines[0].confidence"),
        std::pair(R"({"kind":"group","series":[1],"baseline":[2]})", "lines[0].baseline"),
        std::pair(R"({"kind":"compare","series":[1]})", "lines[0].baseline"),
        std::pair(R"({"kind":"compare","series":[1],"baseline":[]})", "lines[0].baseline"),
        std::pair(R"({"kind":"compare","series":[1],"baseline":[2],"as":"sum"})", "lines[0].as"),
        std::pair(R"({"kind":"group","series":[1],"repetitions":"yes"})", "lines[0].repetitions"),
        std::pair(R"({"kind":"group","series":[1],"max_hole":-1})", "lines[0].max_hole"),
        std::pair(R"({"series":[1],"alpha":0.5})", "lines[0].alpha"),
        std::pair(R"({"series":[1],"origins_ns":[1]})", "lines[0].origins_ns")}) {
    const auto request =
        api::parse_line_request(R"({"width":3,"lines":[)" + std::string(line) + "]}");
    ASSERT_FALSE(request) << line;
    EXPECT_EQ(request.error().field, field) << line;
  }
  for (const auto& [text, field] :
       {std::pair(R"({"width":3})", "lines"), std::pair(R"({"width":3,"lines":[1]})", "lines"),
        std::pair(R"({"lines":[{"series":[1]}]})", "width"),
        std::pair(R"({"width":3,"lines":[{"series":[1]}],"with":3})", "with"),
        std::pair(R"({"width":3,"lines":[{"series":[1]}],"to_step":3})", "to_step"),
        std::pair(R"({"width":3,"axis":"step","lines":[{"kind":"integral","series":[1]}]})",
                  "lines[0].kind")}) {
    const auto request = api::parse_line_request(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().field, field) << text;
  }
}

TEST(WindowRequest, ErrorsNameTheField) {
  for (const auto& [text, field] :
       {std::pair(R"({})", "series"), std::pair(R"({"series":[1],"quantiles":[1.5]})", "quantiles"),
        std::pair(R"({"series":[1],"quantiles":0.5})", "quantiles"),
        std::pair(R"({"series":[1],"from_ns":"9","to_ns":"9"})", "to_ns"),
        std::pair(R"({"series":[1],"width":9})", "width"),
        std::pair(R"({"series":[1],"axis":"step","to_ns":"9"})", "to_ns"),
        std::pair(R"({"series":[1],"mode":"log"})", "mode")}) {
    const auto request = api::parse_window_request(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().field, field) << text;
  }
  const auto request = api::parse_window_request(R"({"series":[1],"quantiles":[0,0.5,1]})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->request.probabilities, (std::vector<double>{0, 0.5, 1}));
}

TEST(JsonPosition, PointsAtTheByteThatIsWrong) {
  EXPECT_EQ(json_error_position(R"({"a":1,})"), 7U);
  EXPECT_EQ(json_error_position(R"({"a" 1})"), 5U);
  EXPECT_EQ(json_error_position(R"([1,2)"), 4U);
  EXPECT_EQ(json_error_position(R"(["abc)"), 5U);
  EXPECT_EQ(json_error_position("[1.x]"), 3U);
  EXPECT_EQ(json_error_position("[truth]"), 4U);
  EXPECT_EQ(json_error_position("{} x"), 3U);
  EXPECT_EQ(json_error_position(""), 0U);
  EXPECT_EQ(json_error_position(std::string(100'000, '[')), 64U);
}

}  // namespace
}  // namespace corral::server
