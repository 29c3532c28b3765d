// POST /xy, /epochs and /changes over a real store.

#include <gtest/gtest.h>

#include "analyze/explain/training_units.h"
#include "server/api/late.h"
#include "server/api/requests.h"
#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kSecond = 1'000'000'000;

std::string utc_text(std::int64_t boot) {
  return "\"" + std::to_string(boot + frames::kUtcMinusBoot) + "\"";
}

class Findings : public HandlerTest {
 protected:
  struct Given {
    RunId id = RunId::random();
    frames::SessionWriter writer;
  };
  // A run with two metrics: 100 points, one a second, of which the last 20 differ.
  Given add_run(const std::vector<std::string>& names) {
    Given run;
    codec::SchemaBody schema;
    std::uint32_t id = 0;
    for (const std::string& name : names) schema.series.push_back(frames::series_def(++id, name));
    take({run.writer.frame(frames::session_body(run.id)), run.writer.frame(schema)});
    return run;
  }
  void take(const std::vector<codec::Frame>& all) {
    const auto result = store_->append(all);
    ASSERT_TRUE(result && result->refusals.empty());
  }
  std::string series(RunId run, std::string_view name) {
    const auto all = reader_of(*store_).series_of(run);
    for (const store::Series& s : *all)
      if (s.name == name) return std::to_string(s.id.value);
    return "0";
  }
  static codec::PhaseRecord phase(std::uint64_t id, std::string name, std::int64_t begin,
                                  std::optional<std::int64_t> end) {
    codec::PhaseRecord record;
    record.id = id;
    record.begin = boot_time(begin);
    if (end) record.end = boot_time(*end);
    record.name = std::move(name);
    record.type = record.name;
    record.lane = "node7/4711/main";
    return record;
  }
  Response router_answer(const std::string& target) {
    Request request;
    request.method = Method::kGet;
    EXPECT_TRUE(parse_target(target, request));
    return route(std::move(request), *context_);
  }
  Json epochs(RunId run) {
    return ok(Method::kPost, "/api/corral/v1/epochs", R"({"runs":[")" + run.hex() + R"("]})");
  }
  // "400 field" of an error.
  std::string error_of(const std::string& path, const std::string& query) {
    return error(path + query, "", Method::kGet);
  }
  std::string error(std::string_view path, std::string body, Method method = Method::kPost) {
    const Response response = send(method, path, std::move(body));
    const Json json = json_of(response);
    const Json* found = json.find("error");
    return std::to_string(response.status) + ' ' +
           (found == nullptr ? "" : found->get_string("field"));
  }
};

TEST_F(Findings, OneMetricOverAnother) {
  Given run = add_run({"lr", "loss"});
  take({run.writer.frame(frames::samples(1, {{2000, 0.5}, {3000, 0.25}}, {1, 2})),
        run.writer.frame(frames::samples(2, {{2001, 3}, {3001, 2}}, {1, 2}))});
  const std::string line =
      R"({"x":)" + series(run.id, "lr") + R"(,"y":)" + series(run.id, "loss") + "}";
  const Response answer =
      send(Method::kPost, "/api/corral/v1/xy",
           R"({"lines":[)" + line + R"(],"width":100,"height":50,"y_scale":"log"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body.substr(0, 4), "CRXY");
  EXPECT_EQ(answer.body.size(), 48 + 56 + 2 * 24 + 8U);
  EXPECT_EQ(error("/api/corral/v1/xy", R"({"lines":[{"x":4711,"y":1}],"width":1,"height":1})"),
            "404 ");
  EXPECT_EQ(error("/api/corral/v1/xy", R"({"lines":[],"width":1,"height":1})"), "400 lines");
}

TEST_F(Findings, EpochsOfPhases) {
  Given run = add_run({"loss"});
  auto second = phase(2, "epoch", 200, std::nullopt);
  second.attributes = {{"index", "7"}};
  take({run.writer.frame(
      codec::PhasesBody{{phase(1, "Epoch 6", 100, 200), second, phase(3, "epoch_end", 190, 195),
                         phase(4, "step", 120, 130)}})});
  EXPECT_EQ(epochs(run.id).dump(),
            R"({"runs":[{"run":")" + run.id.hex() + R"(","from":"phases","first_step_ns":)" +
                utc_text(120) + R"(,"epochs":[{"index":6,"start_ns":)" + utc_text(100) +
                R"(,"end_ns":)" + utc_text(200) + R"(},{"index":7,"start_ns":)" + utc_text(200) +
                R"(,"end_ns":null}],"more":false}]})");
}

TEST_F(Findings, EpochsOfAMetric) {
  Given run = add_run({"epoch", "loss"});
  take({run.writer.frame(frames::samples(1, {{2000, 0}, {3000, 1}})),
        run.writer.frame(frames::samples(2, {{1500, 0.5}, {2500, 0.25}}, {1, 2}))});
  EXPECT_EQ(epochs(run.id).dump(),
            R"({"runs":[{"run":")" + run.id.hex() + R"(","from":"metric","first_step_ns":)" +
                utc_text(1500) + R"(,"epochs":[{"index":0,"start_ns":)" + utc_text(1000) +
                R"(,"end_ns":)" + utc_text(2000) + R"(},{"index":1,"start_ns":)" + utc_text(2000) +
                R"(,"end_ns":)" + utc_text(3000) + R"(}],"more":false}]})");
}

TEST_F(Findings, EpochsComeInPages) {
  constexpr int kAll = 12'345;
  Given run = add_run({"epoch"});
  std::vector<std::pair<std::int64_t, double>> points;
  for (int i = 0; i < kAll; ++i) {
    points.emplace_back(2000 + i * 1000, i);
    if (points.size() < 4000 && i + 1 < kAll) continue;
    take({run.writer.frame(frames::samples(1, points))});
    points.clear();
  }
  const auto page = [&](int skip) {
    const Json answer =
        ok(Method::kPost, "/api/corral/v1/epochs",
           R"({"runs":[")" + run.id.hex() + R"("],"skip":)" + std::to_string(skip) + "}");
    return answer.find("runs")->as_array()->front();
  };
  const Json first = page(0);
  EXPECT_EQ(first.find("epochs")->as_array()->size(), 10'000U);
  EXPECT_TRUE(*first.find("more")->as_bool());
  const Json second = page(10'000);
  ASSERT_EQ(second.find("epochs")->as_array()->size(), kAll - 10'000U);
  EXPECT_EQ(second.find("epochs")->as_array()->front().get_int("index"), 10'000);
  EXPECT_FALSE(*second.find("more")->as_bool());
  EXPECT_TRUE(page(kAll).find("epochs")->as_array()->empty());
  EXPECT_EQ(error("/api/corral/v1/epochs", R"({"runs":["@1"],"skip":-1})"), "400 skip");
}

TEST_F(Findings, NoEpochsAtAll) {
  Given run = add_run({"loss"});
  EXPECT_EQ(epochs(run.id).dump(),
            R"({"runs":[{"run":")" + run.id.hex() +
                R"(","from":null,"first_step_ns":null,"epochs":[],"more":false}]})");
  EXPECT_EQ(error("/api/corral/v1/epochs", R"({"runs":["nobody"]})"), "404 runs");
  EXPECT_EQ(error("/api/corral/v1/epochs", R"({"runs":[]})"), "400 runs");
}

TEST_F(Findings, WhatChanged) {
  Given run = add_run({"loss", "flat"});
  std::vector<std::pair<std::int64_t, double>> loss, flat;
  for (int i = 0; i < 100; ++i) {
    loss.emplace_back(i * kSecond, i < 80 ? i % 2 : 10 + i % 2);
    flat.emplace_back(i * kSecond, 3);
  }
  take({run.writer.frame(frames::samples(1, loss)), run.writer.frame(frames::samples(2, flat))});
  const std::string ids =
      R"({"series":[)" + series(run.id, "flat") + "," + series(run.id, "loss") + "]";
  const std::string window =
      R"(,"from_ns":)" + utc_text(80 * kSecond) + R"(,"to_ns":)" + utc_text(100 * kSecond);
  const Json answer = ok(Method::kPost, "/api/corral/v1/changes", ids + window + "}");
  EXPECT_EQ(answer.get_int("flat"), 1);
  EXPECT_EQ(answer.get_int("too_few"), 0);
  EXPECT_EQ(answer.find("against")->get_string("to_ns"),
            std::to_string(80 * kSecond + frames::kUtcMinusBoot));
  ASSERT_EQ(answer.find("changes")->as_array()->size(), 1U);
  const Json& change = answer.find("changes")->as_array()->front();
  EXPECT_EQ(std::to_string(change.get_int("series")), series(run.id, "loss"));
  EXPECT_EQ(change.find("ks")->as_double(0), 1);
  EXPECT_EQ(change.get_string("direction"), "up");
  EXPECT_EQ(change.get_string("values"), "points");
  EXPECT_TRUE(change.find("reason")->is_null());
  EXPECT_EQ(change.find("before")->get_int("n"), 80);
  EXPECT_EQ(change.find("after")->find("mean")->as_double(0), 10.5);

  const Json relative = ok(
      Method::kPost, "/api/corral/v1/changes",
      ids + R"(,"from_ns":0,"to_ns":"20000000000","against":{"from_ns":-20000000000,"to_ns":0},)" +
          R"("origins_ns":[)" + utc_text(80 * kSecond) + "," + utc_text(80 * kSecond) + "]}");
  EXPECT_EQ(relative.find("changes")->as_array()->front().find("before")->get_int("n"), 20);
  EXPECT_EQ(error("/api/corral/v1/changes", R"({"series":[4711],"from_ns":0,"to_ns":1})"), "404 ");
}

// scipy 1.11 (ks_2samp) and numpy over the same values; see AsScipySays of query/changes_test.cpp.
struct Wanted {
  double ks, delta, effect, before, after;
};
void expect_change(const Json& answer, const Wanted& wanted) {
  ASSERT_EQ(answer.find("changes")->as_array()->size(), 1U) << answer.dump();
  const Json& change = answer.find("changes")->as_array()->front();
  EXPECT_NEAR(change.find("ks")->as_double(0), wanted.ks, 1e-12);
  EXPECT_NEAR(change.find("delta")->as_double(0), wanted.delta, 1e-12);
  EXPECT_NEAR(change.find("effect")->as_double(0), wanted.effect, 1e-12);
  EXPECT_NEAR(change.find("before")->find("mean")->as_double(0), wanted.before, 1e-12);
  EXPECT_NEAR(change.find("after")->find("mean")->as_double(0), wanted.after, 1e-12);
}

class ChangesAgainstARun : public Findings {
 protected:
  // 160 steps, one a second, and of the baseline one every two.
  ChangesAgainstARun() : run_(add_run({"loss", "own"})), base_(add_run({"loss"})) {
    std::vector<std::pair<std::int64_t, double>> loss, own, base;
    std::vector<std::int64_t> steps;
    for (int i = 0; i < 160; ++i) {
      loss.emplace_back(i * kSecond, i * 37 % 23 / 2.0);
      own.emplace_back(i * kSecond, i);
      base.emplace_back(2 * i * kSecond, i * 29 % 17 / 4.0);
      steps.push_back(i);
    }
    take({run_.writer.frame(frames::samples(1, loss, steps)),
          run_.writer.frame(frames::samples(2, own, steps)),
          base_.writer.frame(frames::samples(1, base, steps))});
    auto other_rank = phase(4, "epoch", 10 * kSecond, 20 * kSecond);
    other_rank.lane = "node7/rank1/4712/main";
    take({base_.writer.frame(codec::PhasesBody{
        {phase(1, "epoch", 0, 200 * kSecond), phase(2, "epoch", 200 * kSecond, 280 * kSecond),
         phase(3, "epoch", 280 * kSecond, std::nullopt), other_rank}})});
  }
  [[nodiscard]] std::string body(const std::string& rest) {
    return R"({"series":[)" + series(run_.id, "loss") + "," + series(run_.id, "own") + "]," + rest +
           R"(,"reference":{"run":")" + base_.id.hex() + '"';
  }
  Given run_, base_;
  const std::string window_ =
      R"("from_ns":)" + utc_text(60 * kSecond) + R"(,"to_ns":)" + utc_text(100 * kSecond);
};

TEST_F(ChangesAgainstARun, InItsSamePhase) {
  const Json answer = ok(Method::kPost, "/api/corral/v1/changes",
                         body(window_) + R"(,"phase":"epoch","index":1}})");
  expect_change(answer, {0.6, 0.6075, 1.3737413137627403, 1.925, 5.3625});
  const Json& reference = *answer.find("reference");
  EXPECT_EQ(reference.get_string("run"), base_.id.hex());
  EXPECT_EQ(reference.get_int("index"), 1);
  EXPECT_EQ('"' + reference.get_string("from_ns") + '"', utc_text(200 * kSecond));
  EXPECT_EQ('"' + reference.get_string("to_ns") + '"', utc_text(280 * kSecond));
  EXPECT_EQ(answer.get_int("unmatched"), 1) << "own is not measured there";
  EXPECT_EQ(answer.find("against"), nullptr);
}

TEST_F(ChangesAgainstARun, InItsSameSteps) {
  const std::string steps = R"("axis":"step","from_step":20,"to_step":60)";
  expect_change(ok(Method::kPost, "/api/corral/v1/changes", body(steps) + "}}"),
                {0.6, 0.573125, 1.3080838720882597, 2.05, 5.3875});
}

TEST_F(ChangesAgainstARun, OnStepsAgainstThoseBefore) {
  const Json answer = ok(Method::kPost, "/api/corral/v1/changes",
                         R"({"axis":"step","from_step":12,"to_step":18,"against":{"from_step":0,)"
                         R"("to_step":12},"series":[)" +
                             series(run_.id, "loss") + "]}");
  expect_change(answer, {0.25, 0.16666666666666666, 0.20417934823622183, 4.958333333333333,
                         5.666666666666667});
  EXPECT_EQ(answer.find("against")->get_string("to_step"), "12");
}

TEST_F(ChangesAgainstARun, RefusesWhatIsNotThere) {
  const auto refused = [&](const std::string& rest) {
    return error("/api/corral/v1/changes", body(window_) + rest);
  };
  EXPECT_EQ(refused(R"(,"phase":"epoch","index":3}})"), "404 reference");
  EXPECT_EQ(refused(R"(,"phase":"validation"}})"), "404 reference");
  EXPECT_EQ(refused(R"(,"phase":"epoch","index":2}})"), "409 reference") << "it has not ended";
  EXPECT_EQ(error("/api/corral/v1/changes",
                  R"({"series":[1],)" + window_ + R"(,"reference":{"run":"nobody","phase":"x"}})"),
            "404 reference");
}

template <class Parse>
std::string field_of(Parse parse, std::string_view text) {
  const auto parsed = parse(text);
  return parsed ? "" : parsed.error().field;
}

TEST(ChangesRequest, ErrorsNameTheField) {
  const auto field = [](std::string_view text) {
    return field_of(api::parse_changes_request, text);
  };
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1})"), "");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"against":null,"baseline":null})"), "");
  EXPECT_EQ(field(R"({"series":[],"from_ns":0,"to_ns":1})"), "series");
  EXPECT_EQ(field(R"({"series":[1],"to_ns":1})"), "from_ns");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0})"), "to_ns");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":1,"to_ns":1})"), "to_ns");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"origins_ns":[1,2]})"), "origins_ns");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"against":7})"), "against");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"against":{"from_ns":3}})"),
            "against.to_ns");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"baseline":[]})"), "baseline");
  EXPECT_EQ(
      field(
          R"({"series":[1],"from_ns":0,"to_ns":1,"baseline":[{"series":1,"from_ns":0,"to_ns":1}]})"),
      "baseline[0].against");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"mode":"mean"})"), "mode");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"axis":"time"})"), "");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"axis":"epoch"})"), "axis");
  EXPECT_EQ(field(R"({"series":[1],"from_step":0,"to_step":1,"axis":"step"})"), "");
  EXPECT_EQ(field(R"({"series":[1],"from_ns":0,"to_ns":1,"axis":"step"})"), "from_ns");
  const auto with = [&](const std::string& rest) {
    return field(R"({"series":[1],"from_ns":0,"to_ns":1,)" + rest + "}");
  };
  EXPECT_EQ(with(R"("reference":{"run":"@1","phase":"epoch","index":3})"), "");
  EXPECT_EQ(with(R"("reference":{"run":"@1"})"), "reference.phase");
  EXPECT_EQ(with(R"("reference":{"phase":"epoch"})"), "reference.run");
  EXPECT_EQ(with(R"("reference":{"run":"@1","phase":"epoch","index":-1})"), "reference.index");
  EXPECT_EQ(with(R"("baseline":[{"series":1,"against":2,"from_ns":0,"to_ns":1}],)"
                 R"("reference":{"run":"@1","phase":"epoch"})"),
            "reference");
}

TEST(XyRequest, ErrorsNameTheField) {
  const auto field = [](std::string members) {
    return field_of(api::parse_xy_request,
                    R"({"lines":[{"x":1,"y":2}],"width":9,"height":9)" + members + "}");
  };
  EXPECT_EQ(field(""), "");
  EXPECT_EQ(field(R"(,"from":-1.5,"to":2,"pair":"time","draw":"points","x_scale":"linear")"), "");
  EXPECT_EQ(field(R"(,"pair":"index")"), "pair");
  EXPECT_EQ(field(R"(,"draw":"bars")"), "draw");
  EXPECT_EQ(field(R"(,"from":1,"to":1)"), "to");
  EXPECT_EQ(field(R"(,"y_from":0,"y_scale":"log")"), "y_from");
  EXPECT_EQ(field(R"(,"from_ns":2,"to_ns":1)"), "to_ns");
  EXPECT_EQ(field(R"(,"z":1)"), "z");
  EXPECT_EQ(field_of(api::parse_xy_request, R"({"lines":[{"x":1}],"width":9,"height":9})"),
            "lines[0].y");
  EXPECT_EQ(field_of(api::parse_xy_request, R"({"lines":[{"x":1,"y":2}],"width":9})"), "height");
}

TEST(EpochsRequest, ErrorsNameTheField) {
  EXPECT_EQ(field_of(api::parse_epochs_request, R"({"runs":["@1"]})"), "");
  EXPECT_EQ(field_of(api::parse_epochs_request, R"({"runs":[1]})"), "runs");
  EXPECT_EQ(field_of(api::parse_epochs_request, R"({"runs":["@1"],"run":1})"), "run");
}

TEST_F(Findings, AnExplanationIsKeptUntilMoreIsStored) {
  Given run = add_run({"loss"});
  const std::string target = "/api/corral/v1/runs/" + run.id.hex() + "/explain";
  const auto steps = [&] {
    const Json found = ok(Method::kGet, target);
    const Json::Array& lanes = *found.find("lanes")->as_array();
    return lanes.empty() ? 0 : lanes.front().get_int("steps");
  };
  take({run.writer.frame(codec::PhasesBody{{phase(1, "step", 1 * kSecond, 2 * kSecond)}})});
  EXPECT_EQ(steps(), 1);
  EXPECT_EQ(steps(), 1);
  const auto kept = [&] { return !router_answer(target).late; };
  EXPECT_TRUE(kept());
  take({run.writer.frame(codec::PhasesBody{{phase(2, "step", 3 * kSecond, 4 * kSecond)}})});
  EXPECT_FALSE(kept());
  EXPECT_EQ(steps(), 2);
  take({run.writer.frame(codec::FactsBody{{{codec::FactKind::kTag, "corral.cpus", "0-1"}}})});
  EXPECT_FALSE(kept());
  EXPECT_EQ(steps(), 2);
  EXPECT_TRUE(router_answer(target + "?unknown=1").late == nullptr) << "no other question";
  context_->answers->age(AnswerCache::kLongest);
  EXPECT_FALSE(kept());
}

TEST_F(Findings, StepsThatAnExplanationCountedAreNotReadAgainForOthers) {
  Given run = add_run({"loss"});
  const std::string target = "/api/corral/v1/runs/" + run.id.hex();
  const auto steps = [&](const std::string& query = "") {
    const Json found = ok(Method::kGet, target + "/footprint" + query);
    return found.find("units")->as_array()->at(1).get_int("count");
  };
  const auto in_column = [&] {
    return ok(Method::kGet, target + "/interest").find("columns")->get_string("unit");
  };
  // Counts that are not true show which were used.
  const auto pretend = [&] {
    ok(Method::kGet, target + "/explain");
    context_->answers->age(AnswerCache::kLongest);
    context_->units->with([](CountedUnits& last) {
      analyze::TrainingUnits units = *last.units;
      units.steps = 7;
      units.columns.unit = analyze::Unit::kEpoch;
      last.units = std::make_shared<const analyze::TrainingUnits>(units);
    });
  };
  std::vector<codec::PhaseRecord> phases;
  for (std::uint64_t i = 1; i <= 80; ++i) {
    const auto begin = static_cast<std::int64_t>(i) * kSecond;
    phases.push_back(phase(i, "step", begin, begin + kSecond / 2));
  }
  take({run.writer.frame(codec::PhasesBody{.phases = phases})});
  EXPECT_EQ(steps(), 80);
  EXPECT_EQ(in_column(), "step");
  pretend();
  EXPECT_EQ(steps(), 7);
  EXPECT_EQ(in_column(), "epoch");
  EXPECT_EQ(steps("?from_ns=" + std::to_string(41 * kSecond + frames::kUtcMinusBoot)), 40)
      << "another window";
  pretend();
  take({run.writer.frame(codec::PhasesBody{{phase(81, "step", 81 * kSecond, 82 * kSecond)}})});
  EXPECT_EQ(steps(), 81) << "more is stored";
  Given other = add_run({"loss"});
  take({other.writer.frame(codec::PhasesBody{{phase(1, "step", 1 * kSecond, 9 * kSecond)}})});
  pretend();
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/runs/" + other.id.hex() + "/footprint")
                .find("units")
                ->as_array()
                ->at(1)
                .get_int("count"),
            1)
      << "another run";
}

// Two lanes, of one process or of two ranks, whose steps fill the same time. The first that is met,
// and the one with more phases, are others when only steps are read.
class LanesAlike : public Findings, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Findings, LanesAlike,
                         testing::Values("node7/4711/other", "node7/rank1/4712/main"));

TEST_P(LanesAlike, FootprintAndInterestAreTheSameAfterAnExplanation) {
  Given run = add_run({"loss"});
  std::vector<codec::PhaseRecord> phases = {phase(1, "load", 150 * kSecond, 160 * kSecond)};
  phases.back().lane = GetParam();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto begin = static_cast<std::int64_t>(i + 1) * kSecond;
    phases.push_back(phase(2 + i, "step", begin, begin + kSecond));
  }
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::int64_t begin = kSecond + static_cast<std::int64_t>(i) * kSecond / 2;
    phases.push_back(phase(102 + i, "step", begin, begin + kSecond / 2));
    phases.back().lane = GetParam();
  }
  std::vector<std::pair<std::int64_t, double>> points;
  for (std::int64_t i = 0; i < 160; ++i) points.emplace_back((i + 1) * kSecond, i < 50 ? 1 : 2);
  take({run.writer.frame(frames::samples(1, points)),
        run.writer.frame(codec::PhasesBody{.phases = phases})});
  const std::string target = "/api/corral/v1/runs/" + run.id.hex();
  const std::string from = std::to_string(20 * kSecond + frames::kUtcMinusBoot);
  const std::string to = std::to_string(90 * kSecond + frames::kUtcMinusBoot);
  for (const std::string& window : {std::string(), "?from_ns=" + from + "&to_ns=" + to}) {
    const Json footprint = ok(Method::kGet, target + "/footprint" + window);
    const Json interest = ok(Method::kGet, target + "/interest" + window);
    EXPECT_EQ(interest.find("columns")->get_string("unit"), "step");
    context_->answers->age(AnswerCache::kLongest);
    ok(Method::kGet, target + "/explain" + window);
    EXPECT_EQ(ok(Method::kGet, target + "/footprint" + window).dump(), footprint.dump());
    EXPECT_EQ(ok(Method::kGet, target + "/interest" + window).dump(), interest.dump());
  }
}

TEST_F(Findings, AnExplanationThatNobodyWaitsForIsGivenUpAndNotKept) {
  Given run = add_run({"loss"});
  take({run.writer.frame(codec::PhasesBody{{phase(1, "step", 1 * kSecond, 2 * kSecond)}})});
  const std::string target = "/api/corral/v1/runs/" + run.id.hex() + "/explain";
  const Response response = router_answer(target);
  ASSERT_TRUE(response.late);
  EXPECT_EQ(response.late([] { return true; }).status, 503);
  EXPECT_TRUE(router_answer(target).late);
  EXPECT_EQ(send(Method::kGet, target + "?lane=none").status, 404);
  EXPECT_TRUE(router_answer(target + "?lane=none").late) << "errors are not kept";
}

TEST_F(Findings, ThePartOfEachTypeOfPhasesInAMetric) {
  Given run = add_run({"loss", "accuracy"});
  std::vector<std::pair<std::int64_t, double>> points;
  std::vector<codec::PhaseRecord> phases;
  for (int i = 0; i <= 60; ++i) points.emplace_back(1000 + i * kSecond, i % 2 == 0 ? 1 : 3);
  for (int i = 0; i < 30; ++i) {
    const auto id = static_cast<std::uint64_t>(i + 1);
    phases.push_back(phase(id, "step", 1000 + 2 * i * kSecond, 1000 + (2 * i + 1) * kSecond));
  }
  take({run.writer.frame(frames::samples(1, points)),
        run.writer.frame(codec::PhasesBody{.phases = phases})});
  const std::string path = "/api/corral/v1/runs/" + run.id.hex() + "/attribution?metric=";
  const Json found =
      ok(Method::kGet, path + "loss&from_ns=" + std::to_string(1000 + frames::kUtcMinusBoot));
  EXPECT_EQ(found.get_int("samples"), 60);
  EXPECT_EQ(found.get_string("method"), "derived");
  EXPECT_NEAR(found.find("total")->as_double(0), 2, 1e-9);
  EXPECT_NEAR(found.find("background")->as_double(0), 1, 1e-6);
  const Json::Array& parts = *found.find("parts")->as_array();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].get_string("type"), "step");
  EXPECT_NEAR(parts[0].find("mean")->as_double(0), 2, 1e-6);
  EXPECT_NEAR(parts[0].find("share_of_total")->as_double(0), 0.5, 1e-6);
  EXPECT_TRUE(parts[0].get_bool("identifiable"));
  EXPECT_EQ(error_of(path, ""), "400 metric");
  EXPECT_EQ(error_of(path, "los"), "404 ");
  EXPECT_EQ(error_of(path, "accuracy&from_ns=5&to_ns=5"), "400 to_ns");
}

}  // namespace
}  // namespace corral::server
