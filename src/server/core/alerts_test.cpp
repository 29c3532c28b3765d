// Tests which news of runs become messages, and to whom, over a real store. That they arrive:
// tests/e2e/test_alerts.py.
#include "server/core/alerts.h"

#include <algorithm>
#include <limits>

#include "server/core/test_handlers.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace alerts = store::alerts;
namespace frames = store::testing;
using alerts::Form;
using alerts::Kind;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Steps = std::vector<std::pair<std::int64_t, double>>;  // seconds, values
using Told = std::vector<std::string>;

class AlertsTest : public HandlerTest {
 protected:
  // A run of a supervisor, whose clock is `utc` of its seconds.
  struct Training {
    RunId id = RunId::random();
    frames::SessionWriter writer{};
  };
  void append(const std::vector<codec::Frame>& sent) {
    const auto done = store_->append(sent);
    ASSERT_TRUE(done && done->refusals.empty());
  }
  Training begin(const std::string& name, const std::string& experiment = "digits",
                 const std::string& role = "supervisor") {
    Training run;
    auto body = frames::session_body(run.id, role);
    body.run_name = name;
    body.experiment = experiment;
    append({run.writer.frame(body),
            run.writer.frame(codec::SchemaBody{.series = {frames::series_def(1, "loss")}})});
    return run;
  }
  void log(Training& run, Steps points) {
    std::vector<std::int64_t> steps;
    for (auto& [time, value] : points) {
      steps.push_back(time);
      time *= kSecond;
    }
    append({run.writer.frame(frames::samples(1, points, steps))});
  }
  void end(Training& run, std::int64_t seconds, int exit_code) {
    append({run.writer.frame(codec::RunEndBody{.time = boot_time(seconds * kSecond),
                                               .reason = codec::EndReason::kExit,
                                               .exit_code = exit_code,
                                               .exit_signal = {}})});
  }
  // There are the users ada and bob, and bob alone sees the space vision.
  void share_with_bob() {
    EXPECT_TRUE(store_->change([](store::Writing& writing) -> Result<> {
      TRY(store::accounts::require_users(writing, true));
      for (const char* name : {"ada", "bob"})
        TRY(store::accounts::add_user(
            writing, {.name = name, .display = "", .role = Role::kAdmin, .created = utc_time(1)}));
      return store::accounts::add_space(writing, {.name = "vision", .members = {"bob"}});
    }));
    EXPECT_TRUE(accounts_.refresh());
  }
  std::int64_t want(alerts::Alert alert) {
    alert.target = "https://h";
    std::int64_t id = 0;
    EXPECT_TRUE(store_->change([&](store::Writing& writing) -> Result<> {
      id = TRY(alerts::add(writing, alert));
      return {};
    }));
    return id;
  }
  // The titles of the messages that one look makes, with their alerts.
  Told look(std::int64_t seconds = 100) {
    const auto looked = alerts_.look(frames::utc(seconds * kSecond), boot_time(seconds * kSecond));
    EXPECT_TRUE(looked) << looked.error().message;
    Told told;
    EXPECT_TRUE(store_->change([&](store::Writing& writing) -> Result<> {
      while (const auto message = TRY(alerts::claim(writing, frames::utc(seconds * kSecond)))) {
        const Json news = Json::parse(message->body).value();
        told.push_back(std::to_string(message->alert.id) + " " + news.get_string("title") + " (" +
                       news.get_string("text") + ")");
        TRY(alerts::note_sent(writing, *message, frames::utc(seconds * kSecond)));
      }
      return {};
    }));
    std::ranges::sort(told);
    return told;
  }

  // All messages of looks each 30 s, as a server that goes on makes them.
  Told watch(std::int64_t from, std::int64_t to) {
    Told all;
    for (std::int64_t now = from; now < to + 30; now += 30)
      for (std::string& one : look(std::min(now, to))) all.push_back(std::move(one));
    return all;
  }

  Alerts alerts_{*store_,
                 {*store_, store::Access::everything()},
                 accounts_,
                 {.url = "http://h:5000", .networks = {}, .mail = {}}};
};

TEST_F(AlertsTest, EndsAreToldOnceAndFailuresToWhoWantsThose) {
  Training good = begin("otter");
  Training bad = begin("lynx");
  want({.kinds = {Kind::kFailed}});
  want({.kinds = {Kind::kEnded, Kind::kFailed}, .experiment = "other"});
  want({.kinds = {Kind::kEnded}});
  EXPECT_EQ(look(), Told{});
  end(good, 50, 0);
  end(bad, 60, 3);
  EXPECT_EQ(look(), (Told{"1 lynx: failed (exit status 3 (experiment digits))",
                          "3 lynx: failed (exit status 3 (experiment digits))",
                          "3 otter: finished (exit status 0 (experiment digits))"}));
  EXPECT_EQ(look(), Told{});
  Alerts restarted(*store_, {*store_, store::Access::everything()}, accounts_, {});
  EXPECT_TRUE(restarted.look(frames::utc(100 * kSecond), boot_time(0)));
  EXPECT_EQ(look(), Told{}) << "another server, or this one after a restart";
}

TEST_F(AlertsTest, RunsThatEndedBeforeTheAlertAreLeftOut) {
  Training run = begin("otter");
  end(run, 50, 1);
  want({.kinds = {Kind::kFailed}, .created = frames::utc(51 * kSecond)});
  want({.kinds = {Kind::kFailed}, .created = frames::utc(50 * kSecond)});
  EXPECT_EQ(look(), Told{"2 otter: failed (exit status 1 (experiment digits))"});
}

TEST_F(AlertsTest, AnOldEndIsNoNews) {
  Training run = begin("otter");
  end(run, 50, 1);
  want({.kinds = {Kind::kFailed}});
  constexpr std::int64_t kDay = 24 * 3600;
  EXPECT_EQ(look(kDay + 51), Told{});
  EXPECT_EQ(look(kDay + 50).size(), 1U);
}

TEST_F(AlertsTest, ANanIsToldOfTheMetricThatIsMeant) {
  Training run = begin("otter");
  want({.kinds = {Kind::kNan}});
  want({.kinds = {Kind::kNan}, .metric = "loss"});
  want({.kinds = {Kind::kNan}, .metric = "accuracy"});
  log(run, {{1, 0.5}, {2, 0.4}});
  EXPECT_EQ(look(), Told{});
  log(run, {{3, kNaN}});
  const std::string what =
      "otter: loss is NaN or infinite (1 of its 3 points, the newest among them (experiment "
      "digits))";
  EXPECT_EQ(look(), (Told{"1 " + what, "2 " + what}));
  log(run, {{4, kNaN}});
  EXPECT_EQ(look(), Told{});
}

TEST_F(AlertsTest, ANanOfARunThatEndedMeanwhileIsTold) {
  Training run = begin("otter");
  want({.kinds = {Kind::kNan}});
  log(run, {{1, std::numeric_limits<double>::infinity()}, {2, 0.5}});
  end(run, 3, 0);
  EXPECT_EQ(look(), Told{"1 otter: loss is NaN or infinite (1 of its 2 points, but not the newest "
                         "(experiment digits))"});
}

TEST_F(AlertsTest, ALimitIsToldAlsoIfItWasPassedForAMoment) {
  Training run = begin("otter");
  want({.kinds = {Kind::kLimit}, .metric = "loss", .above = 10.0});
  want({.kinds = {Kind::kLimit}, .metric = "loss", .below = 0.1});
  log(run, {{1, 10.0}, {2, 0.1}});
  EXPECT_EQ(look(), Told{}) << "neither above nor below";
  log(run, {{3, 11.0}, {4, 1.0}});
  EXPECT_EQ(look(),
            Told{"1 otter: loss was above 10 (its greatest value is 11 (experiment digits))"});
}

TEST_F(AlertsTest, WhatComesLateIsTold) {
  Training run = begin("otter");
  want({.kinds = {Kind::kNan}});
  log(run, {{1, 0.5}, {9, 0.5}});
  end(run, 10, 0);
  EXPECT_EQ(look(), Told{});
  frames::SessionWriter other;  // the process's, whose spool drains after the supervisor's
  const auto body = frames::session_body(run.id, "process");
  append({other.frame(body),
          other.frame(codec::SchemaBody{.series = {frames::series_def(1, "accuracy")}}),
          other.frame(frames::samples(1, {{2 * kSecond, kNaN}}))});
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(AlertsTest, EveryRunsMetricsAreReadInTheEnd) {
  want({.kinds = {Kind::kNan}});
  std::vector<Training> runs;
  for (std::size_t i = 0; i <= Alerts::kMostRead; ++i) {
    runs.push_back(begin("run", "digits", "process"));
    log(runs.back(), {{1, kNaN}});
  }
  EXPECT_EQ(look().size(), Alerts::kMostRead);
  EXPECT_EQ(look().size(), 1U);
  EXPECT_EQ(look().size(), 0U);
}

TEST_F(AlertsTest, OfRunsThatAreReadInTurnsNoneStalls) {
  std::vector<Training> runs;
  for (std::size_t i = 0; i < Alerts::kMostRead + 20; ++i) {
    runs.push_back(begin("run", "digits", "process"));
    Steps points;
    for (std::int64_t step = 0; step < 12; ++step) points.emplace_back(step, 1.0);
    log(runs.back(), points);
  }
  want({.kinds = {Kind::kStalled}});
  for (std::int64_t now = 100; now <= 300; now += 40) {
    EXPECT_EQ(look(now), Told{}) << now;
    for (Training& run : runs) log(run, {{now, 1.0}});
  }
}

TEST_F(AlertsTest, MuchNewsIsToldInSeveralLooks) {
  for (int i = 0; i < 7; ++i) want({.kinds = {Kind::kNan, Kind::kFailed}});
  for (std::size_t i = 0; i < Alerts::kMostRead; ++i) {
    Training run = begin("run");
    log(run, {{1, kNaN}});
    end(run, 2, 1);
  }
  std::size_t told = 0;
  for (int i = 0; i < 4; ++i) told += look().size();
  EXPECT_EQ(told, 7 * 2 * Alerts::kMostRead);
}

TEST_F(AlertsTest, AStallIsToldAfterTenIntervals) {
  Training run = begin("otter");
  want({.kinds = {Kind::kStalled}});
  Steps points;
  for (std::int64_t i = 0; i <= 10; ++i) points.emplace_back(i * 10, 1.0);
  log(run, points);
  EXPECT_EQ(watch(200, 300), Told{}) << "ten intervals of 10 s, not more";
  EXPECT_EQ(look(301), Told{"1 otter: no new points (none for 1:41; before, loss had one each "
                            "10.0 s (experiment digits))"});
}

TEST_F(AlertsTest, AStallLastsAMinuteAtLeast) {
  Training run = begin("otter", "digits", "process");
  want({.kinds = {Kind::kStalled}});
  Steps points;
  for (std::int64_t i = 0; i <= 10; ++i) points.emplace_back(i, 1.0);
  log(run, points);
  EXPECT_EQ(watch(10, 50), Told{});
  log(run, {{11, 1.0}});
  EXPECT_EQ(watch(60, 120), Told{});
  EXPECT_EQ(look(121).size(), 1U);
}

TEST_F(AlertsTest, SilenceIsToldOfSupervisorsAlone) {
  Training run = begin("otter");
  begin("lynx", "digits", "process");
  want({.kinds = {Kind::kSilent}});
  EXPECT_EQ(watch(100, 400), Told{});
  log(run, {{399, 1.0}});
  EXPECT_EQ(watch(401, 701), Told{});
  EXPECT_EQ(look(702).size(), 1U);
}

TEST_F(AlertsTest, APauseOfTheServerIsNoSilence) {
  Training run = begin("otter");
  want({.kinds = {Kind::kSilent, Kind::kStalled}});
  Steps points;
  for (std::int64_t i = 0; i <= 10; ++i) points.emplace_back(i, 1.0);
  log(run, points);
  EXPECT_EQ(look(100), Told{});
  EXPECT_EQ(look(5000), Told{}) << "the machine slept";
  log(run, {{12, 1.0}});
  EXPECT_EQ(look(5030), Told{});
}

TEST_F(AlertsTest, AnEndThatWasSeenCountsWhateverTheHostsClockSays) {
  Training run = begin("otter");
  want({.kinds = {Kind::kFailed}, .created = frames::utc(90 * kSecond)});
  EXPECT_EQ(look(100), Told{});
  end(run, 50, 1);
  EXPECT_EQ(look(104).size(), 1U);
}

TEST_F(AlertsTest, NobodyIsToldOfAForeignSpace) {
  Training run = begin("otter", "vision/net");
  begin("lynx", "open");
  share_with_bob();
  want({.user = "ada", .kinds = {Kind::kFailed}});
  want({.user = "bob", .kinds = {Kind::kFailed}});
  want({.kinds = {Kind::kFailed}});  // made before the server had users
  end(run, 50, 1);
  EXPECT_EQ(look(), Told{"2 otter: failed (exit status 1 (experiment vision/net))"});
}

TEST_F(AlertsTest, WhoMustNotSeeTheRunAnyMoreIsNotSentWhatWaited) {
  Training run = begin("otter", "vision/net");
  end(run, 50, 1);
  share_with_bob();
  want({.user = "bob", .kinds = {Kind::kFailed}});
  const UtcTime now = frames::utc(100 * kSecond);
  EXPECT_TRUE(alerts_.look(now, boot_time(100 * kSecond)));
  EXPECT_TRUE(store_->change([](store::Writing& writing) {
    return store::accounts::change_members(writing,
                                           {.space = "vision", .add = {}, .remove = {"bob"}});
  }));
  EXPECT_TRUE(accounts_.refresh());
  EXPECT_TRUE(alerts_.send_next(now).value());
  EXPECT_FALSE(alerts_.send_next(now + std::chrono::hours(1)).value());
  const auto kept = in_snapshot(context_->reader, alerts::list).value();
  EXPECT_EQ(kept.at(0).waiting, 0);
  EXPECT_EQ(kept.at(0).problem, "") << "no sending was tried";
}

TEST_F(AlertsTest, MessagesGoToPublicAddressesByTlsAndToAllowedOnes) {
  const Alerts lab(
      *store_, {*store_, store::Access::everything()}, accounts_,
      {.url = "", .networks = {http::Network::parse("10.0.7.0/24").value()}, .mail = {}});
  for (const char* ip : {"8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8"}) {
    EXPECT_TRUE(alerts_.may_send_to(ip, true)) << ip;
    EXPECT_FALSE(alerts_.may_send_to(ip, false)) << ip;
  }
  for (const char* ip : {"0.0.0.0",
                         "10.1.2.3",
                         "100.64.0.1",
                         "127.0.0.1",
                         "127.9.9.9",
                         "169.254.169.254",
                         "172.16.0.1",
                         "172.31.255.255",
                         "192.168.1.1",
                         "198.18.0.1",
                         "224.0.0.1",
                         "255.255.255.255",
                         "::",
                         "::1",
                         "::ffff:127.0.0.1",
                         "::ffff:10.0.0.1",
                         "64:ff9b::a00:1",
                         "2002:a00:1::1",
                         "fc00::1",
                         "fd12::1",
                         "fe80::1",
                         "ff02::1"})
    EXPECT_FALSE(alerts_.may_send_to(ip, true)) << ip;
  EXPECT_TRUE(lab.may_send_to("10.0.7.9", false));
  EXPECT_TRUE(lab.may_send_to("::ffff:10.0.7.9", true));
  EXPECT_FALSE(lab.may_send_to("10.0.8.9", true));
}

TEST_F(AlertsTest, TargetsAreChecked) {
  const auto ok = [&](Form form, std::string_view target) {
    return alerts_.check_target(form, target).has_value();
  };
  EXPECT_TRUE(ok(Form::kWebhook, "https://lab.org/hook?x=1"));
  EXPECT_TRUE(ok(Form::kSlack, "http://10.0.0.7:8065/hooks/x")) << "looked at when it connects";
  EXPECT_TRUE(ok(Form::kNtfy, "https://ntfy.sh/topic/"));
  for (const char* target : {"", "lab.org", "file:///etc/passwd", "https://", "https:///x",
                             "https://u:p@lab.org/", "https://lab.org/a b", "https://lab.org/\n"})
    EXPECT_FALSE(ok(Form::kWebhook, target)) << target;
  EXPECT_FALSE(ok(Form::kNtfy, "https://ntfy.sh"));
  EXPECT_FALSE(ok(Form::kNtfy, "https://ntfy.sh/"));
  EXPECT_FALSE(ok(Form::kMail, "ada@lab.org")) << "there is no mail server";
  const Alerts with_mail(*store_, {*store_, store::Access::everything()}, accounts_,
                         {.url = "",
                          .networks = {},
                          .mail = {.url = "smtp://h", .from = "c@h"},
                          .mail_domains = {"lab.org"}});
  EXPECT_TRUE(with_mail.check_target(Form::kMail, "ada@Lab.org"));
  for (const char* target : {"", "ada", "@lab.org", "ada@", "a@b@c", "ada@lab.org\r\nBcc: x@y",
                             "Ada <ada@lab.org>", "-x@lab.org", "a%b@lab.org", "ada@evil.org"})
    EXPECT_FALSE(with_mail.check_target(Form::kMail, target)) << target;
}

}  // namespace
}  // namespace corral::server
