// Programs that log through the relay: the run they mean, the records that reach the spool, and the
// answers without a server.
#include <gtest/gtest.h>

#include <thread>

#include "compat/mlflow/relay/messages.h"
#include "compat/mlflow/relay/tracking_relay.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "http/test_client.h"
#include "run/tracking.h"
#include "spool/test_spool.h"
#include "sys/clock.h"
#include "sys/socket.h"
#include "upload/source.h"

namespace corral::run {
namespace {

using spool::TestDirectory;

const std::atomic<bool> kNever{false};

spool::Manifest manifest() {
  spool::Manifest m;
  m.run = RunId::random();
  m.session = SessionId::random();
  m.workload = own_workload_of(m.run);
  m.experiment = "default";
  m.run_name = "amber-colt-01";
  m.host = "here";
  return m;
}

class Book : public ::testing::Test {
 protected:
  RunBook book(bool experiment_chosen = false, bool name_chosen = false) {
    return RunBook({.manifest = manifest_,
                    .experiment_chosen = experiment_chosen,
                    .name_chosen = name_chosen,
                    .room = {.files = directory_.files(), .limit = 1 << 20}});
  }
  // Returns the descriptions of the sessions in the spool of one run.
  std::vector<codec::SessionBody> sessions_of(RunId run) {
    std::vector<codec::SessionBody> found;
    for (const SessionId session : spool::client_logs(directory_.files())) {
      auto log = spool::find_client_log(directory_.files(), session).value();
      if (log.description.run == run) found.push_back(log.description);
    }
    return found;
  }
  std::vector<codec::Frame> sections_of(RunId run) {
    std::vector<codec::Frame> all;
    for (const SessionId session : spool::client_logs(directory_.files())) {
      const auto log = spool::find_client_log(directory_.files(), session).value();
      if (log.description.run != run) continue;
      spool::FrameLogReader reader(log.files);
      const auto frames = reader.read(0, 1 << 20).value();
      for (const codec::Bytes& bytes : frames) {
        auto parts = codec::sections(codec::decode_frame(bytes).value()).value();
        for (codec::Frame& part : parts) all.push_back(std::move(part));
      }
    }
    return all;
  }
  std::map<std::string, std::string> tags_of(RunId run) {
    std::map<std::string, std::string> tags;
    for (const codec::Frame& part : sections_of(run)) {
      if (part.header.kind != codec::FrameKind::kFacts) continue;
      const auto facts = codec::decode_facts(part).value();
      for (const codec::Fact& fact : facts.facts) tags[fact.key] = fact.value;
    }
    return tags;
  }

  TestDirectory directory_;
  spool::Manifest manifest_ = manifest();
};

NewRun new_run(std::string experiment = "0") {
  NewRun run;
  run.experiment = std::move(experiment);
  if (run.experiment != "0") run.experiment_name = "named " + run.experiment;
  run.start_ms = 1'700'000'000'000;
  return run;
}

TEST_F(Book, TheFirstRunIsTheCorralRunAndLaterOnesItsChildren) {
  RunBook runs = book();
  const auto first = runs.create(new_run());
  const auto second = runs.create(new_run());
  EXPECT_EQ(first->id(), manifest_.run);
  EXPECT_NE(second->id(), manifest_.run);
  EXPECT_EQ(tags_of(second->id())["mlflow.parentRunId"], manifest_.run.hex());
  ASSERT_EQ(sessions_of(second->id()).size(), 1u);
  EXPECT_EQ(sessions_of(second->id())[0].workload, manifest_.workload);
  EXPECT_EQ(runs.find(second->id()), second);
}

TEST_F(Book, ANestedRunIsNeverTheCorralRun) {
  RunBook runs = book();
  NewRun nested = new_run();
  nested.tags.emplace_back("mlflow.parentRunId", RunId::random().hex());
  const auto child = runs.create(nested);
  EXPECT_NE(child->id(), manifest_.run);
  EXPECT_EQ(tags_of(child->id())["mlflow.parentRunId"], nested.tags[0].second);
  EXPECT_EQ(runs.create(new_run())->id(), manifest_.run);
}

TEST_F(Book, EachRankStartsTheCorralRunOnceForEachOfItsProcesses) {
  RunBook runs = book();
  const auto start = [&](std::int64_t rank, pid_t pid) {
    NewRun run = new_run();
    run.client = RankedClient{.pid = pid, .rank = rank};
    return runs.create(run)->id() == manifest_.run;
  };
  EXPECT_TRUE(start(0, 100));
  EXPECT_TRUE(start(1, 101));
  EXPECT_FALSE(start(0, 100));
  EXPECT_TRUE(start(1, 201)) << "a rank that was started again";
  EXPECT_FALSE(start(1, 201));
  EXPECT_EQ(tags_of(manifest_.run)["corral.ranks"], "0,1");
}

TEST_F(Book, TheScriptChoosesExperimentAndNameUnlessTheyWereChosen) {
  NewRun wish = new_run("7");
  wish.name = "mine";
  RunBook open = book();
  open.create(wish);
  const auto update = Json::parse(tags_of(manifest_.run)["mlflow.update"]).value();
  EXPECT_EQ(update.get_string("experiment"), "named 7");
  EXPECT_EQ(tags_of(manifest_.run)["mlflow.runName"], "mine");
  EXPECT_EQ(open.believed_experiment(manifest_.run), "");
  EXPECT_EQ(sessions_of(open.create(new_run("7"))->id())[0].experiment, "named 7");
  EXPECT_EQ(sessions_of(open.create(new_run("8"))->id())[0].experiment, "named 8");

  manifest_ = manifest();
  sys::fs::remove_all(directory_.path() / "mlflow");
  RunBook chosen = book(true, true);
  chosen.create(wish);
  EXPECT_EQ(Json::parse(tags_of(manifest_.run)["mlflow.update"])->get_string("experiment"), "");
  EXPECT_EQ(tags_of(manifest_.run)["mlflow.runName"], "amber-colt-01");
  EXPECT_EQ(chosen.believed_experiment(manifest_.run), "7");
  EXPECT_EQ(sessions_of(chosen.create(new_run("7"))->id())[0].experiment, "default");
}

TEST_F(Book, PointsBecomeColumnsOnTheClientsClock) {
  RunBook runs = book();
  mlflow::LogBatch batch;
  batch.metrics = {{"a", {{1000, 1, 0.5}, {2000, 2, 1.5}}}, {"b", {{1000, 1, 7}, {2000, 2, 8}}}};
  ASSERT_TRUE(runs.own()->log(batch, ""));
  ASSERT_TRUE(runs.own()->log(batch, "rank1"));
  std::vector<std::pair<std::string, std::string>> declared;
  std::vector<codec::SampleGroup> groups;
  for (const codec::Frame& part : sections_of(manifest_.run)) {
    if (part.header.kind == codec::FrameKind::kSchema) {
      const auto schema = codec::decode_schema(part).value();
      for (const auto& series : schema.series) declared.emplace_back(series.source, series.name);
    } else if (part.header.kind == codec::FrameKind::kSamples) {
      const auto samples = codec::decode_samples(part).value();
      for (const auto& group : samples.groups) groups.push_back(group);
    }
  }
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(declared, (Pairs{{"", "a"}, {"", "b"}, {"rank1", "a"}, {"rank1", "b"}}));
  ASSERT_EQ(groups.size(), 2u) << "metrics that were logged together share their rows";
  EXPECT_EQ(groups[0].steps, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(mlflow::kClientAnchor.to_utc(groups[0].times[1]), utc_time(2'000'000'000));
  EXPECT_EQ(groups[0].columns[1].values, (std::vector<double>{7, 8}));
}

TEST_F(Book, AParamKeepsItsValueAndARefusedBatchLeavesNothing) {
  RunBook runs = book();
  mlflow::LogBatch batch;
  batch.params = {{"p", "1"}};
  EXPECT_TRUE(runs.own()->log(batch, ""));
  EXPECT_TRUE(runs.own()->log(batch, ""));
  batch.params = {{"p", "2"}};
  batch.tags = {{"t", "x"}};
  const auto refusal = runs.own()->log(batch, "");
  ASSERT_FALSE(refusal);
  EXPECT_NE(refusal.error().message.find("Changing param values is not allowed"),
            std::string::npos);
  batch.params = {{"q", "1"}, {"q", "2"}};
  const auto twice = runs.own()->log(batch, "");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("Duplicate parameter keys"), std::string::npos);
  EXPECT_FALSE(tags_of(manifest_.run).contains("q"));
  EXPECT_FALSE(tags_of(manifest_.run).contains("t"));
}

TEST_F(Book, WhatIsTooLongForAFrameIsRefusedOrCutBeforeItIsSpooled) {
  RunBook runs = book();
  mlflow::LogBatch batch;
  std::string wide;  // as many letters as MLflow takes, and twice the bytes
  for (int i = 0; i < 250; ++i) wide += "ß";
  batch.params = {{wide, "1"}};
  EXPECT_FALSE(runs.own()->log(batch, ""));
  batch.params.clear();
  batch.tags = {{wide, "1"}};
  EXPECT_FALSE(runs.own()->log(batch, ""));
  runs.create(new_run());
  NewRun asked = new_run("8");
  asked.name = wide + wide;
  asked.experiment_name = wide;
  const auto child = runs.create(asked);
  EXPECT_EQ(child->view().name, wide + wide);
  ASSERT_EQ(sessions_of(child->id()).size(), 1u);
  EXPECT_EQ(sessions_of(child->id())[0].run_name, wide.substr(0, 250));
  EXPECT_EQ(sessions_of(child->id())[0].experiment, "default");
  EXPECT_EQ(tags_of(child->id())["mlflow.runName"], wide + wide);
  const auto update = Json::parse(tags_of(child->id())["mlflow.update"]).value();
  EXPECT_EQ(update.get_string("experiment"), wide);
}

TEST_F(Book, AFullSpoolDropsAndCountsButNeverRefuses) {
  RunBook runs({.manifest = manifest_, .room = {.files = directory_.files(), .limit = 0}});
  mlflow::LogBatch batch;
  for (int i = 0; i < 3000; ++i) {
    batch.metrics = {{"m" + std::to_string(i), {{1000, i, 0.5}}}};
    ASSERT_TRUE(runs.own()->log(batch, ""));
  }
  EXPECT_GT(runs.own()->dropped(), 0u);
  EXPECT_NE(runs.loss(), "");
}

TEST_F(Book, ChildrenThatNobodyEndedEndWithTheCommand) {
  RunBook runs = book();
  runs.create(new_run());
  const auto ended = runs.create(new_run());
  const auto open = runs.create(new_run());
  ended->update(
      {.status = ClientStatus::kFinished, .end_ms = {}, .name = {}, .user = {}, .experiment = {}});
  runs.abandon_children();
  const auto ends = [&](RunId run) {
    const auto parts = sections_of(run);
    return std::ranges::count(parts, codec::FrameKind::kRunEnd,
                              [](const codec::Frame& f) { return f.header.kind; });
  };
  EXPECT_EQ(ends(manifest_.run), 0);
  EXPECT_EQ(ends(ended->id()), 0);
  EXPECT_EQ(ends(open->id()), 1);
}

TEST_F(Book, ASuccessorGoesOnWithTheSameBook) {
  NewRun own = new_run("7");
  own.name = "mine";
  const NewRun nested = new_run("8");
  RunId ended;
  RunId open;
  {
    RunBook killed = book();
    killed.create(own);
    ended = killed.create(nested)->id();
    killed.update(killed.find(ended), {.status = ClientStatus::kFinished,
                                       .end_ms = {},
                                       .name = {},
                                       .user = {},
                                       .experiment = {}});
    NewRun other = nested;
    other.start_ms += 1;
    open = killed.create(other)->id();
    killed.name_experiment("99", "made up");
  }
  RunBook successor = book();
  EXPECT_EQ(successor.experiment_called("99"), "made up");
  EXPECT_TRUE(successor.own()->is_recalled());
  EXPECT_EQ(successor.own()->view().name, "mine");
  NewRun later = new_run("7");
  later.start_ms += 2;
  const auto third = successor.create(later);
  EXPECT_NE(third->id(), manifest_.run) << "the Corral run was started before";
  EXPECT_EQ(sessions_of(third->id())[0].experiment, "named 7");
  successor.abandon_children();
  const auto ends = [&](RunId run) {
    return std::ranges::count(sections_of(run), codec::FrameKind::kRunEnd,
                              [](const codec::Frame& f) { return f.header.kind; });
  };
  EXPECT_EQ(ends(ended), 0);
  EXPECT_EQ(ends(open), 1);
  EXPECT_EQ(ends(third->id()), 1);
  book().abandon_children();
  EXPECT_EQ(ends(open), 1) << "the next one knows that it has ended";
}

TEST_F(Book, ARequestThatIsRepeatedAfterAKillIsTheSame) {
  const NewRun own = new_run("7");
  NewRun nested = new_run("7");
  nested.tags = {{"t", "x"}};
  const RunId child = [&] {
    RunBook killed = book();
    killed.create(own);
    return killed.create(nested)->id();
  }();
  RunBook successor = book();
  EXPECT_EQ(successor.create(nested)->id(), child);
  EXPECT_EQ(successor.create(own)->id(), manifest_.run);
  EXPECT_NE(successor.create(nested)->id(), child) << "it is answered once";
}

TEST_F(Book, ALineThatAKillCutIsLeftOutAlone) {
  const NewRun first = new_run();
  { book().create(first); }
  const auto path = directory_.path() / "mlflow" / "book";
  std::string text = sys::read_file(path).value();
  ASSERT_TRUE(sys::replace_file(path, text + "\n{\"child\": {\"id\""));
  NewRun second = first;
  second.start_ms += 1;
  const RunId child = book().create(second)->id();
  EXPECT_EQ(book().create(second)->id(), child);
}

TEST_F(Book, WhatTheServerKnowsOfARecalledRunIsLearnedOnce) {
  { book().create(new_run("7")); }
  RunBook successor = book();
  const auto known = Json::parse(
      R"({"info":{"run_name":"n","experiment_id":"3","artifact_uri":"mlflow-artifacts:/3/r"},)"
      R"("data":{"params":[{"key":"p","value":"1"}]}})");
  successor.adopt(manifest_.run, *known);
  EXPECT_FALSE(successor.own()->is_recalled());
  const RunView view = successor.own()->view();
  EXPECT_EQ(view.params.at("p"), "1");
  EXPECT_EQ(view.experiment, "7") << "as the program knows it";
  EXPECT_NE(info_json(view).find("mlflow-artifacts:/3/r"), std::string::npos);
}

class TakeoverTest : public Book {
 protected:
  // The events that the successor of this directory wrote to the run's journal.
  std::vector<std::string> events_of(spool::RunDirectory& run) {
    std::vector<std::string> names;
    spool::FrameLogReader reader(run.files());
    const auto frames = reader.read(0, 1 << 20).value();
    for (const codec::Bytes& bytes : frames) {
      const auto frame = codec::decode_frame(bytes).value();
      const auto parts = codec::sections(frame).value();
      for (const codec::Frame& part : parts) {
        if (part.header.kind != codec::FrameKind::kEvents) continue;
        const auto events = codec::decode_events(part).value();
        for (const auto& event : events.events) names.push_back(event.name);
      }
    }
    return names;
  }
  // A run whose supervisor gave its command this port.
  spool::RunDirectory abandoned(std::uint16_t port) {
    auto run = spool::RunDirectory::create(directory_.path(), manifest_).value();
    EXPECT_TRUE(run.set_tracking({.port = port,
                                  .secret = SessionId::random().hex(),
                                  .room = 1 << 20,
                                  .experiment_chosen = false,
                                  .name_chosen = false}));
    return run;
  }
  std::unique_ptr<upload::Successor> successor_of(spool::RunDirectory& run,
                                                  spool::Journal& journal) {
    return tracking_takeover(
        {.target = {}, .page = [] { return std::string(); }, .delivery = delivery_})(run, journal);
  }
  Delivery delivery_;
};

TEST_F(TakeoverTest, ThePortOfAnotherProgramIsGivenUpAndSaid) {
  const sys::Fd other = sys::listen_tcp({.host = "127.0.0.1", .port = 0}).value();
  auto run = abandoned(sys::bound_port(other).value());
  auto journal = spool::Journal::open(run, 1 << 20).value();
  journal.describe(spool::session_body(manifest_));
  const auto successor = successor_of(run, journal);
  ASSERT_NE(successor, nullptr);
  for (int i = 0; i < 100; ++i) successor->serve();
  EXPECT_FALSE(successor->serving());
  const auto events = events_of(run);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("MLflow calls are lost"), std::string::npos);
}

TEST_F(TakeoverTest, ThePortIsServedAndFreeAgainAfterTheCommand) {
  const std::uint16_t port = [] {
    const sys::Fd any = sys::listen_tcp({.host = "127.0.0.1", .port = 0}).value();
    return sys::bound_port(any).value();
  }();
  auto run = abandoned(port);
  auto journal = spool::Journal::open(run, 1 << 20).value();
  const auto successor = successor_of(run, journal);
  successor->serve();
  EXPECT_TRUE(successor->serving());
  EXPECT_FALSE(sys::listen_tcp({.host = "127.0.0.1", .port = port}));
  successor->end();
  EXPECT_TRUE(sys::listen_tcp({.host = "127.0.0.1", .port = port}));
}

TEST_F(TakeoverTest, ARunWithoutAnAddressNeedsNone) {
  auto run = spool::RunDirectory::create(directory_.path(), manifest_).value();
  auto journal = spool::Journal::open(run, 1 << 20).value();
  EXPECT_EQ(successor_of(run, journal), nullptr);
}

TEST(ArtifactPlaces, OfRunsAreFoundAndMoved) {
  const std::string run(32, 'a');
  const auto moved = [&](std::string target) {
    http::Request request;
    EXPECT_TRUE(http::parse_target(target, request));
    const auto place = artifact_place(request);
    if (!place) return std::string("none");
    EXPECT_EQ(place->run.hex(), run);
    move_artifact(request, "mlflow-artifacts:/b%20c/" + run + "/artifacts");
    return request.path + "?" + std::string(request.query_value("path").value_or("")) + " " +
           place->inside;
  };
  const std::string api = "/api/2.0/mlflow-artifacts/";
  const std::string old = "8000/" + run + "/artifacts";
  const std::string place = "b%20c/" + run + "/artifacts";
  EXPECT_EQ(moved(api + "artifacts/" + old + "/d/a%20b"),
            api + "artifacts/" + place + "/d/a%20b? d/a b");
  EXPECT_EQ(moved(api + "mpu/create/" + old), api + "mpu/create/" + place + "? ");
  EXPECT_EQ(moved(api + "artifacts?path=" + old + "/d"),
            api + "artifacts?b c/" + run + "/artifacts/d d");
  for (const std::string other : {"artifacts/8000/models/m-1/artifacts/x", "artifacts/",
                                  "artifacts", "artifacts?path=x", "mpu/create"})
    EXPECT_EQ(moved(api + other), "none") << other;
  EXPECT_EQ(moved("/api/2.0/mlflow/artifacts/list?path=" + old), "none");
}

TEST_F(Book, MergedFramesSayWhatTheSmallOnesSaid) {
  RunBook runs = book();
  mlflow::LogBatch batch;
  for (int i = 0; i < 100; ++i) {
    batch.metrics = {{i % 2 == 0 ? "even" : "odd", {{1000 + i, i, i * 0.5}}}};
    ASSERT_TRUE(runs.own()->log(batch, ""));
  }
  const auto session = spool::client_logs(directory_.files())[0];
  const auto log = spool::find_client_log(directory_.files(), session).value();
  const auto small = spool::FrameLogReader(log.files).read(0, 1 << 20).value();
  const auto merged = upload::merge_frames(small).value();
  ASSERT_EQ(small.size(), 101u);
  ASSERT_EQ(merged.size(), 2u);
  const auto frame = codec::decode_frame(merged[1]).value();
  EXPECT_EQ(frame.header.first, 2u);
  EXPECT_EQ(frame.header.last, 101u);
  std::vector<double> values;
  const auto parts = codec::sections(codec::decode_frame(merged[1]).value()).value();
  for (const auto& part : parts) {
    if (part.header.kind != codec::FrameKind::kSamples) continue;
    const auto samples = codec::decode_samples(part).value();
    for (const auto& group : samples.groups) {
      EXPECT_TRUE(std::ranges::is_sorted(group.steps));
      for (const auto& column : group.columns)
        values.insert(values.end(), column.values.begin(), column.values.end());
    }
  }
  std::ranges::sort(values);
  ASSERT_EQ(values.size(), 100u);
  EXPECT_EQ(values[99], 49.5);
}

TEST_F(Book, WhatCannotBeMergedIsSentAsItIs) {
  auto log =
      spool::ClientLog::create(directory_.files(), spool::session_body(manifest_), 1 << 20).value();
  for (const std::string& key : {std::string("a"), std::string(300, 'b'), std::string("c")}) {
    codec::Bundle bundle;
    bundle.add(codec::FactsBody{{{.kind = codec::FactKind::kTag, .key = key, .value = "v"}}});
    log.bundle(bundle);
  }
  log.close();
  const auto session = spool::client_logs(directory_.files()).at(0);
  upload::FrameLogSource source(
      spool::find_client_log(directory_.files(), session).value(), [] { return false; },
      directory_.files());
  for (int i = 0; i < 2; ++i) {
    const auto frames = source.frames(0, 1 << 20);
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_EQ(frames->size(), 4u) << "the description, and each that was written";
  }
}

TEST(Delivery, AFlushWaitsForARoundThatBeganAfterIt) {
  Delivery delivery;
  std::jthread uploader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      [[maybe_unused]] const bool doubted = delivery.begin();
      delivery.end(true);
      delivery.pause(stop, std::chrono::hours(1));
    }
  });
  delivery.note_written();
  EXPECT_TRUE(delivery.flush(std::chrono::seconds(30), kNever));
  EXPECT_TRUE(delivery.flush(Nanos(0), kNever)) << "nothing was written since";
}

TEST(Delivery, AFlushGivesTheUploadersErrorAndEndsWithIt) {
  Delivery delivery;
  std::jthread uploader([&](const std::stop_token& stop) {
    [[maybe_unused]] const bool doubted = delivery.begin();
    delivery.end(true);
    delivery.pause(stop, std::chrono::hours(1));
    [[maybe_unused]] const bool again = delivery.begin();
    delivery.end(fail(Code::kUnavailable, "nobody there"));
    delivery.pause(stop, std::chrono::hours(1));
    delivery.close();
  });
  Result<> flushed;
  do {
    delivery.note_written();
    flushed = delivery.flush(std::chrono::seconds(30), kNever);
  } while (flushed);
  EXPECT_EQ(flushed.error().message, "nobody there");
  EXPECT_FALSE(delivery.flush(std::chrono::seconds(30), kNever));
}

TEST(Delivery, NewRowsEndAPauseButNotTheOneAfterAFailure) {
  Delivery delivery;
  const std::stop_source stop;
  delivery.note_rows();
  delivery.pause(stop.get_token(), std::chrono::hours(1));
  delivery.note_rows();
  const BootTime before = sys::boot_now();
  delivery.pause(stop.get_token(), std::chrono::milliseconds(20), true);
  EXPECT_GE(sys::boot_now() - before, Nanos(std::chrono::milliseconds(19)));
  delivery.wake();
  delivery.pause(stop.get_token(), std::chrono::hours(1), true);
}

TEST(Delivery, WhoSendsFilesIsToldOnceAndWhenThereIsNoMore) {
  Delivery delivery;
  const std::stop_source stop;
  delivery.note_files();
  EXPECT_TRUE(delivery.wait_for_files(stop.get_token()));
  std::jthread closer([&] { delivery.close(); });
  EXPECT_FALSE(delivery.wait_for_files(stop.get_token()));
}

TEST(Answers, AnExperimentIdIsExchangedWithoutTouchingTheRest) {
  const auto answer = with_experiment(
      R"({"run":{"info":{"run_id":"a","experiment_id":"1"},"data":{"metrics":[{"value":"NaN"}]}}})",
      "2");
  EXPECT_EQ(
      answer.body,
      R"({"run":{"info":{"run_id":"a","experiment_id":"2"},"data":{"metrics":[{"value":"NaN"}]}}})");
}

TEST(Answers, ClientsDoNotRepeatWhatNeedsAServer) {
  const auto answer = no_server({Code::kUnavailable, "connection refused"});
  for (const int repeated : {408, 429, 500, 502, 503, 504}) EXPECT_NE(answer.status, repeated);
  EXPECT_EQ(Json::parse(answer.body)->get_string("error_code"), "TEMPORARILY_UNAVAILABLE");
}

}  // namespace
}  // namespace corral::run
