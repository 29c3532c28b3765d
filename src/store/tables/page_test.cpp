// Tests the page's tables, on both engines.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/text.h"
#include "store/maintain/tables.h"
#include "store/search/test_search.h"
#include "store/tables/health.h"
#include "store/tables/logs.h"
#include "store/tables/page.h"
#include "store/tables/phases.h"
#include "store/tables/plans.h"
#include "store/tables/sharing.h"
#include "store/test_frames.h"

namespace corral::store::page {
namespace {

using codec::LogStream;
using Which = LogPageQuery::Which;
namespace frames = store::testing;

class Page : public tracking::SearchTest {
 protected:
  void SetUp() override {
    SearchTest::SetUp();
    if (store_) append(writer_.frame(frames::session_body(run_, "supervisor")));
  }
  void append(const codec::Frame& frame) {
    const auto result = store_->append(std::span(&frame, 1));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->refusals.empty()) << result->refusals.front().error.message;
  }
  void print(LogStream stream, std::int64_t time, std::int64_t offset, std::string text) {
    append(writer_.frame(codec::LogBody{boot_time(time), stream, offset, std::move(text)}));
  }
  void phase(std::uint64_t id, std::int64_t begin, std::optional<std::int64_t> end,
             std::uint64_t parent = 0) {
    codec::PhaseRecord record;
    record.id = id;
    record.parent = parent;
    record.begin = boot_time(begin);
    if (end) record.end = boot_time(*end);
    record.name = "p" + std::to_string(id);
    record.lane = "lane";
    append(writer_.frame(codec::PhasesBody{{record}}));
  }
  LogPage page(LogPageQuery query) {
    query.run = run_;
    return read([&](Reading& reading) { return log_page(reading, query); });
  }
  LogPlace place(std::int64_t row) {
    return read([&](Reading& reading) { return log_place(reading, run_, 0, row); });
  }
  std::string chosen(const PhaseChoice& choice) {
    const auto found = read([&](Reading& r) { return choose_phases(r, run_, choice); });
    std::string text;
    for (const Phase& phase : found.phases) text += phase.name + ' ';
    return text + std::to_string(found.left_out);
  }
  static std::string text_of(const LogPage& page) {
    std::string text;
    for (const LogChunk& chunk : page.chunks) text += chunk.bytes;
    return text;
  }

  const RunId run_ = RunId::random();
  frames::SessionWriter writer_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Page, tracking::both_engines(), tracking::engine_name);

codec::Event told(std::int64_t time, std::string part, codec::HealthState state,
                  std::string reason = "") {
  return codec::health_event(
      boot_time(time), {.part = std::move(part), .state = state, .reason = std::move(reason)});
}

TEST_P(Page, HealthIsWhatEachProcessToldLastOfEachPart) {
  using enum codec::HealthState;
  append(writer_.frame(codec::EventsBody{
      {told(10, "listener.proc", kActive), told(10, "listener.amd", kNotCaptured, "no such GPU"),
       told(11, "source.exec.a", kPartial, "silent"), told(15, "source.exec.a", kActive)}}));
  codec::SessionBody rank = frames::session_body(run_);
  rank.rank = 3;
  frames::SessionWriter process;
  append(process.frame(rank));
  append(
      process.frame(codec::EventsBody{{told(12, "capture.torch.optimizer", kActive),
                                       told(14, "capture.torch.optimizer", kGivenUp, "TypeError"),
                                       {boot_time(13), "health", "user", {{"part", "\"x\""}}}}}));
  const auto parts = read([&](Reading& r) { return health_parts(r, run_); });
  std::vector<std::string> text;
  for (const HealthPart& part : parts) {
    text.push_back(part.part + "@" + part.process + (part.troubled() ? " troubled" : ""));
    for (const HealthChange& change : part.changes)
      text.back() += fmt::format(" {}:{}:{}", ns_of(change.at) - ns_of(frames::utc(0)),
                                 static_cast<int>(change.state), change.reason);
  }
  EXPECT_EQ(text, (std::vector<std::string>{
                      "listener.proc@ 10:0:", "listener.amd@ 10:3:no such GPU",
                      "source.exec.a@ 11:1:silent 15:0:",
                      "capture.torch.optimizer@rank 3 troubled 12:0: 14:2:TypeError"}));
}

TEST_P(Page, AChildOfARankHidesNothingThatItsParentTold) {
  using enum codec::HealthState;
  frames::SessionWriter parent;
  frames::SessionWriter child;
  codec::SessionBody body = frames::session_body(run_);
  body.rank = 0;
  body.host = "node7";
  body.pid = 41;
  append(parent.frame(body));
  append(parent.frame(codec::EventsBody{{told(10, "capture.keras.fit", kGivenUp, "TypeError")}}));
  body.pid = 42;
  append(child.frame(body));  // a script that it executes, with the same environment
  append(child.frame(codec::EventsBody{{told(20, "capture.keras.fit", kActive)}}));
  const auto parts = read([&](Reading& r) { return health_parts(r, run_); });
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].process, "rank 0");
  EXPECT_TRUE(parts[0].troubled());
  EXPECT_EQ(parts[1].process, "rank 0, pid 42 on node7");
  EXPECT_FALSE(parts[1].troubled());
}

TEST_P(Page, HealthEndsWithTheLatestChangeHoweverManyThereWere) {
  using enum codec::HealthState;
  append(writer_.frame(codec::EventsBody{{told(1, "listener.amd", kNotCaptured, "no such GPU")}}));
  for (std::int64_t at = 2; at <= kMostHealthChanges + 4000; at += 2000) {
    codec::EventsBody body;
    for (std::int64_t i = 0; i < 1000; ++i) {
      body.events.push_back(told(at + 2 * i, "source.exec.a", kActive));
      body.events.push_back(told(at + 2 * i + 1, "source.exec.a", kPartial, "status 7"));
    }
    append(writer_.frame(body));
  }
  const auto parts = read([&](Reading& r) { return health_parts(r, run_); });
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].part, "listener.amd");
  EXPECT_TRUE(parts[1].troubled());
  EXPECT_EQ(parts[1].latest().at, frames::utc(kMostHealthChanges + 4001));
  EXPECT_EQ(std::ssize(parts[1].changes), kMostHealthChanges - 1);
}

TEST_P(Page, CoverageIsTheShareOfTheRunInItsOutermostPhases) {
  const auto coverage = [&] {
    const auto run = *reader_of(*store_).run(run_);
    return read([&](Reading& r) { return run_health(r, *run); }).coverage;
  };
  EXPECT_TRUE(coverage().empty());
  phase(1, 500, 1500);      // from before the run's start at 1000
  phase(2, 1200, 1400, 1);  // inside
  phase(3, 2000, {});       // still open at the end
  codec::RunEndBody end;
  end.time = boot_time(3000);
  append(writer_.frame(end));
  ASSERT_EQ(coverage().size(), 1U);
  EXPECT_EQ(coverage()[0].lane, "lane");
  EXPECT_EQ(coverage()[0].phases, 2);
  EXPECT_DOUBLE_EQ(coverage()[0].share, 0.75);
  phase(4, 1100, 1600);  // another process that names the same lane
  phase(5, 1200, 1300);
  EXPECT_EQ(coverage()[0].phases, 4);
  EXPECT_DOUBLE_EQ(coverage()[0].share, 0.8);
}

TEST_P(Page, AViewIsFoundByTheIdOfItsState) {
  const std::string state = "{\"x\": \"'\xC3\xA4\"}";
  const auto save = [&](const std::string& text, std::int64_t now) {
    return write([&](Writing& db) { return save_view(db, text, utc_time(now)); });
  };
  const std::string id = save(state, 5);
  EXPECT_EQ(id.size(), kViewIdLength);
  EXPECT_EQ(save(state, 6), id);
  EXPECT_NE(save(state + " ", 6), id);
  const auto found = read([&](Reading& reading) { return view(reading, id); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, state);
  EXPECT_EQ(found->created, utc_time(5));
  EXPECT_FALSE(read([&](Reading& reading) { return view(reading, "aaaaaaaa"); }));
}

TEST_P(Page, StatesWhoseHashesBeginAlikeGetIdsOfTheirOwn) {
  const std::string state = "mine";
  write([&](Writing& db) {
    return static_cast<sql::Connection&>(db).exec(
        "INSERT INTO views (id, created, state) VALUES (?1, 1, 'another')", view_id(state, 0));
  });
  const auto save = [&] {
    return write([&](Writing& db) { return save_view(db, state, utc_time(5)); });
  };
  EXPECT_EQ(save(), view_id(state, 1));
  EXPECT_EQ(save(), view_id(state, 1));
  EXPECT_EQ(read([&](Reading& r) { return view(r, view_id(state, 0)); })->state, "another");
}

TEST_P(Page, ABoardIsSavedOnlyOverWhatItsWriterHasSeen) {
  const auto save = [&](std::string state, std::optional<std::int64_t> expected, std::int64_t now) {
    BoardChange change{.name = "b\xC3\xB6rd /", .state = std::move(state), .expected = {}};
    if (expected) change.expected = utc_time(*expected);
    return write([&](Writing& db) { return save_board(db, change, utc_time(now)); });
  };
  const auto all = [&] {
    return read([&](Reading& reading) { return boards(reading, BoardKind::kBoard); });
  };
  EXPECT_FALSE(save("lost", 7, 10).saved) << "there is none";
  EXPECT_TRUE(all().empty());
  EXPECT_EQ(save("one", 0, 10).updated, utc_time(10));
  EXPECT_FALSE(save("lost", 0, 11).saved) << "there is one";
  EXPECT_EQ(save("two", 10, 10).updated, utc_time(11)) << "greater, though the clock stood still";
  const SavedBoard stale = save("lost", 10, 12);
  EXPECT_FALSE(stale.saved);
  EXPECT_EQ(stale.updated, utc_time(11));
  EXPECT_TRUE(save("three", {}, 3).saved);
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].name, "b\xC3\xB6rd /");
  EXPECT_EQ(all()[0].state, "three");
  EXPECT_EQ(all()[0].updated, utc_time(12));
  const auto drop = [&] {
    return write([&](Writing& db) { return delete_board(db, BoardKind::kBoard, "b\xC3\xB6rd /"); });
  };
  EXPECT_TRUE(drop());
  EXPECT_FALSE(drop());
  EXPECT_TRUE(all().empty());
}

TEST_P(Page, AListHasItsNameBesideABoardsOfTheSame) {
  for (const auto kind : {BoardKind::kBoard, BoardKind::kRunList}) {
    const BoardChange change{.kind = kind,
                             .name = "same",
                             .state = std::string(kind_name(kind)),
                             .expected = utc_time(0)};
    const auto saved = write([&](Writing& db) { return save_board(db, change, utc_time(5)); });
    EXPECT_TRUE(saved.saved);
  }
  const auto lists = read([&](Reading& reading) { return boards(reading, BoardKind::kRunList); });
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].state, "list");
  EXPECT_TRUE(write([&](Writing& db) { return delete_board(db, BoardKind::kRunList, "same"); }));
  EXPECT_EQ(read([&](Reading& reading) { return boards(reading, BoardKind::kBoard); }).size(), 1U);
}

TEST_P(Page, AllStatesOfAKindHaveABound) {
  const auto save = [&](std::string name, std::size_t bytes) -> Result<> {
    const BoardChange change{.kind = BoardKind::kReport,
                             .name = std::move(name),
                             .state = std::string(bytes, 'x'),
                             .expected = {}};
    return store_->change([&](Writing& db) -> Result<> {
      TRY(save_board(db, change, utc_time(5)));
      return {};
    });
  };
  const auto most = static_cast<std::size_t>(kMostBoardBytes);
  EXPECT_TRUE(save("large", most - 10));
  EXPECT_TRUE(save("small", 10));
  EXPECT_TRUE(save("large", most - 10)) << "in its own place";
  const Result<> over = save("small", 11);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kTooLarge);
}

TEST_P(Page, ThereIsRoomForSoManyBoards) {
  write([&](Writing& db) -> Result<> {
    for (std::int64_t i = 0; i < kMostBoards; ++i) {
      TRY(save_board(db, {.name = std::to_string(i), .state = "s", .expected = {}}, utc_time(1)));
    }
    return {};
  });
  const auto save = [&](std::string name) {
    return store_->change([&](Writing& db) -> Result<> {
      TRY(save_board(db, {.name = name, .state = "t", .expected = {}}, utc_time(2)));
      return {};
    });
  };
  EXPECT_EQ(save("more").error().code, Code::kTooLarge);
  EXPECT_TRUE(save("7"));
}

TEST_P(Page, NotesGoWithTheirRun) {
  const auto add = [&](std::optional<UtcTime> time, std::string text) {
    const NoteText content{.time = time, .text = std::move(text)};
    return write([&](Writing& db) {
      return add_note(db, {.run = run_, .content = content, .now = utc_time(9), .author = "ada"});
    });
  };
  const auto all = [&] { return read([&](Reading& r) { return notes(r, run_); }); };
  const Note first = add(utc_time(1234), "\xE2\x9C\x8D here");
  const Note second = add({}, "all of it");
  ASSERT_EQ(all().size(), 2U);
  EXPECT_EQ(all()[0].content.time, utc_time(1234));
  EXPECT_EQ(all()[0].content.text, "\xE2\x9C\x8D here");
  EXPECT_EQ(all()[0].created, utc_time(9));
  EXPECT_EQ(all()[0].author, "ada");
  EXPECT_FALSE(all()[1].content.time);
  const auto change = [&](RunId run, std::int64_t id) {
    return write([&](Writing& db) {
      return change_note(db, id,
                         {.run = run,
                          .content = {.time = utc_time(5), .text = "anew"},
                          .now = utc_time(11),
                          .author = "bob"});
    });
  };
  const auto changed = change(run_, second.id);
  EXPECT_EQ(changed->created, utc_time(9));
  EXPECT_EQ(changed->author, "bob") << "whose words they are";
  EXPECT_EQ(all()[1].author, "bob");
  EXPECT_EQ(all()[1].content.text, "anew");
  EXPECT_EQ(all()[1].content.time, utc_time(5));
  EXPECT_FALSE(change(RunId::random(), second.id)) << "of another run";
  const auto drop = [&](RunId run, std::int64_t id) {
    return write([&](Writing& db) { return delete_note(db, run, id); });
  };
  EXPECT_FALSE(drop(RunId::random(), first.id));
  EXPECT_TRUE(drop(run_, first.id));
  EXPECT_FALSE(drop(run_, first.id));
  ASSERT_EQ(all().size(), 1U);

  ASSERT_TRUE(store_->remove_runs(std::array{run_}, {.force = true}));
  EXPECT_TRUE(all().empty());
  ASSERT_TRUE(store_->seal(true));
  EXPECT_EQ(read([&](Reading& r) {
              return static_cast<sql::Connection&>(r).number("SELECT count(*) FROM notes");
            }),
            0);
  const auto late = store_->change([&](Writing& db) -> Result<> {
    TRY(add_note(db, {.run = run_, .content = {.time = {}, .text = "late"}, .now = utc_time(10)}));
    return {};
  });
  EXPECT_EQ(late.error().code, Code::kNotFound);
}

TEST_P(Page, ANoteMarksASpanUntilItIsChanged) {
  const auto all = [&] { return read([&](Reading& r) { return notes(r, run_); }); };
  NoteText content{.time = utc_time(5), .end = utc_time(8), .text = "slow"};
  const auto id = write([&](Writing& db) {
                    return add_note(db, {.run = run_, .content = content, .now = utc_time(9)});
                  }).id;
  EXPECT_EQ(all().at(0).content.time, utc_time(5));
  EXPECT_EQ(all().at(0).content.end, utc_time(8));
  const auto change = [&] {
    write([&](Writing& db) {
      return change_note(db, id, {.run = run_, .content = content, .now = utc_time(11)});
    });
    return all().at(0).content.end;
  };
  content.end = utc_time(7);
  EXPECT_EQ(change(), utc_time(7));
  content.end = {};
  EXPECT_EQ(change(), std::nullopt);
}

TEST_P(Page, AFindingHasOneMark) {
  const auto add = [&](NoteText content) {
    return write([&](Writing& db) {
      return add_note(db, {.run = run_, .content = content, .now = utc_time(9)});
    });
  };
  const auto all = [&] { return read([&](Reading& r) { return notes(r, run_); }); };
  add({.time = {}, .text = "why?", .finding = "slow rank 3"});
  add({.time = {}, .text = "known", .finding = "slow rank 3", .mark = Mark::kDismissed});
  add({.time = {}, .text = "", .finding = "bottleneck", .mark = Mark::kDismissed});
  const Note kept = add({.time = {}, .text = "", .finding = "slow rank 3", .mark = Mark::kKept});
  ASSERT_EQ(all().size(), 3U);
  EXPECT_EQ(all()[0].content.text, "why?");
  EXPECT_EQ(all()[0].content.mark, std::nullopt);
  EXPECT_EQ(all()[1].content.finding, "bottleneck");
  EXPECT_EQ(all()[2].id, kept.id);
  EXPECT_EQ(all()[2].content.mark, Mark::kKept);
}

TEST_P(Page, OutputIsReadFromAnyPlace) {
  print(LogStream::kStdout, 10, 0, "a");
  print(LogStream::kStderr, 20, 0, "B");
  print(LogStream::kStdout, 30, 1, "c");
  print(LogStream::kStdout, 40, 12, "d");  // after a gap of 10
  print(LogStream::kStderr, 50, 1, "E");
  const auto all = page({}).chunks;
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(text_of(page({.run = {}, .stream = {}, .which = Which::kLast, .time = {}, .limit = 2})),
            "dE");
  const auto before = page({.run = {},
                            .stream = {},
                            .which = Which::kBefore,
                            .row = all[2].row,
                            .time = {},
                            .limit = 2});
  EXPECT_EQ(text_of(before), "Bc") << "ascending, the row itself is one of them";
  EXPECT_EQ(before.row, all[1].row - 1);
  EXPECT_EQ(text_of(page({.run = {},
                          .stream = LogStream::kStdout,
                          .which = Which::kBefore,
                          .row = all[3].row,
                          .time = {},
                          .limit = 2})),
            "cd");
  const auto from_time = [&](std::int64_t time) {
    return page({.run = {}, .stream = {}, .which = Which::kFromTime, .time = frames::utc(time)});
  };
  EXPECT_EQ(text_of(from_time(21)), "cdE");
  EXPECT_EQ(text_of(from_time(30)), "cdE");
  EXPECT_EQ(text_of(from_time(0)), "aBcdE");
  EXPECT_EQ(from_time(51).chunks.size(), 0U);
  EXPECT_EQ(from_time(51).row, all[4].row) << "what comes later comes after that";
  const auto ends = [&](std::size_t chunk) {
    const LogPlace at = place(all[chunk].row);
    return fmt::format("{} {} {}", at.ends[LogStream::kStdout], at.ends[LogStream::kStderr],
                       at.ends[LogStream::kTty]);
  };
  EXPECT_EQ(ends(0), "1 0 0");
  EXPECT_EQ(ends(1), "1 1 0");
  EXPECT_EQ(ends(2), "2 1 0");
  EXPECT_EQ(ends(3), "13 1 0");
  EXPECT_EQ(ends(4), "13 2 0");
  EXPECT_EQ(place(0).ends[LogStream::kStdout], 0);
}

TEST_P(Page, BytesOfAStreamAreFoundByTheirOffset) {
  print(LogStream::kStdout, 10, 0, "abc");
  print(LogStream::kStderr, 10, 0, "xyz");
  print(LogStream::kStdout, 10, 3, "def");
  print(LogStream::kStdout, 10, 6, "ghi");
  const auto rows = page({}).chunks;
  const auto bytes = [&](std::int64_t offset, std::int64_t row) {
    const auto chunks = read([&](Reading& r) {
      return log_bytes(
          r,
          {.run = run_, .member = 0, .stream = LogStream::kStdout, .offset = offset, .row = row});
    });
    std::string text;
    for (const LogChunk& chunk : chunks) text += chunk.bytes;
    return text;
  };
  EXPECT_EQ(bytes(2, rows[3].row), "abcdefghi");
  EXPECT_EQ(bytes(3, rows[3].row), "defghi");
  EXPECT_EQ(bytes(3, rows[2].row), "def");
  EXPECT_EQ(bytes(9, rows[3].row), "");
}

TEST_P(Page, PhasesAreChosenByTimeAndLength) {
  phase(1, 1000, 9000);
  phase(2, 1000, 1100, 1);
  phase(3, 2000, 4000, 1);
  phase(4, 5000, {}, 1);
  phase(5, 9000, 9000);
  const auto within = [](std::int64_t from, std::int64_t to) {
    return PhaseWindow{.from = frames::utc(from), .to = frames::utc(to)};
  };
  phase(6, 9000, 8000);
  EXPECT_EQ(chosen({}), "p1 p2 p3 p4 p5 p6 0");
  EXPECT_EQ(chosen({.window = {}, .shortest = Nanos(1)}), "p1 p2 p3 p4 2");
  EXPECT_EQ(chosen({.window = within(1100, 2000)}), "p1 0") << "both ends are left out";
  EXPECT_EQ(chosen({.window = within(8999, 9001)}), "p1 p4 p5 p6 0");
  EXPECT_EQ(chosen({.window = within(20000, 30000)}), "p4 0") << "it has not ended";
  EXPECT_EQ(chosen({.window = {}, .shortest = Nanos(2000)}), "p1 p3 p4 3");
  EXPECT_EQ(chosen({.window = within(0, 4500), .shortest = Nanos(2001)}), "p1 2");
  EXPECT_EQ(chosen({.window = {}, .shortest = {}, .limit = 2}), "p1 p4 4") << "the longest";
  EXPECT_EQ(read([&](Reading& r) { return phase_spans(r, run_, frames::utc(2001), 9); }).size(),
            3U);
  EXPECT_EQ(read([&](Reading& r) { return phase_spans(r, run_, frames::utc(9001), 2); }).size(),
            2U);
}

TEST_P(Page, ARunHasPhasesIfOneBeginsInTheWindow) {
  const auto has = [&](std::int64_t from, std::int64_t to) {
    const PhaseWindow window{.from = frames::utc(from), .to = frames::utc(to)};
    return read([&](Reading& r) { return has_phases(r, run_, window); });
  };
  EXPECT_FALSE(has(0, 9999));
  phase(1, 1000, 9000);
  EXPECT_TRUE(has(1000, 1001));
  EXPECT_FALSE(has(900, 1000));   // its begin is after
  EXPECT_FALSE(has(1001, 5000));  // it is open, but began before
}

TEST_P(Page, EachPhaseThatHasBegunIsGivenOnce) {
  phase(1, 1000, 9000);
  phase(2, 2000, {}, 1);
  std::map<std::string, std::optional<UtcTime>> ends;
  const auto give = [&](const PhaseFields& phase) -> Result<> {
    EXPECT_TRUE(ends.emplace(phase.name, phase.end).second);
    EXPECT_FALSE(phase.lane.empty());
    return {};
  };
  const auto scan = [&](std::size_t limit) {
    return read([&](Reading& r) { return each_phase(r, run_, {.limit = limit}, give); });
  };
  EXPECT_EQ(scan(9), 2U);
  EXPECT_EQ(ends, (std::map<std::string, std::optional<UtcTime>>{{"p1", frames::utc(9000)},
                                                                 {"p2", std::nullopt}}));
  ends.clear();
  EXPECT_EQ(scan(1), 1U);
}

TEST_P(Page, AnErrorEndsTheWalkOverPhases) {
  phase(1, 1000, 9000);
  phase(2, 2000, {}, 1);
  int given = 0;
  const auto refuse = [&](const PhaseFields&) -> Result<> {
    ++given;
    return fail(Code::kUnavailable, "no more");
  };
  std::string message;
  read([&](Reading& r) -> Result<bool> {
    const auto walked = each_phase(r, run_, {.limit = 9}, refuse);
    message = walked ? "none" : walked.error().message;
    return true;
  });
  EXPECT_EQ(message, "no more");
  EXPECT_EQ(given, 1);
}

TEST_P(Page, PhasesOfEpochsAndTheFirstStep) {
  const auto steps = [&] { return read([&](Reading& r) { return first_step(r, run_); }); };
  EXPECT_EQ(steps(), std::nullopt);
  const auto named = [&](std::uint64_t id, std::string name, std::int64_t begin) {
    codec::PhaseRecord record;
    record.id = id;
    record.begin = boot_time(begin);
    record.name = std::move(name);
    record.lane = "node7/rank0/1/main";
    record.attributes = {{"index", std::to_string(id)}};
    append(writer_.frame(codec::PhasesBody{{record}}));
  };
  named(1, "Epoch 2", 3000);
  named(2, "epoch", 1000);
  named(3, "an epoch", 500);
  named(4, "Train_Step", 1500);
  named(5, "batch", 1200);
  const auto found = [&](std::size_t limit) {
    return read([&](Reading& r) { return epoch_phases(r, run_, limit); });
  };
  ASSERT_EQ(found(9).size(), 2U);
  EXPECT_EQ(found(9)[0].name, "epoch");
  EXPECT_EQ(found(9)[0].start, frames::utc(1000));
  EXPECT_EQ(found(9)[0].end, std::nullopt);
  EXPECT_EQ(found(9)[0].lane, "node7/rank0/1/main");
  EXPECT_EQ(found(9)[0].attributes, (codec::Attributes{{"index", "2"}}));
  EXPECT_EQ(found(9)[1].name, "Epoch 2");
  EXPECT_EQ(found(1).size(), 1U);
  EXPECT_EQ(steps(), frames::utc(1200));
  std::vector<std::string> units;
  const auto give = [&](const PhaseFields& phase) -> Result<> {
    units.emplace_back(phase.name);
    return {};
  };
  read([&](Reading& r) { return each_phase(r, run_, {.units_only = true, .limit = 9}, give); });
  std::ranges::sort(units);
  EXPECT_EQ(units, (std::vector<std::string>{"Epoch 2", "batch", "epoch"}));
}

TEST_P(Page, TheNewestDocumentOfAPlanCounts) {
  const auto save = [&](std::string id, std::string document, std::int64_t now) {
    write([&](Writing& db) {
      return save_plan(db, {.id = id, .summary = "s" + document, .document = document},
                       utc_time(now));
    });
  };
  const auto document = [&](std::string_view id) {
    return read([&](Reading& reading) { return plan_document(reading, id); });
  };
  const auto all = [&] { return read([&](Reading& reading) { return plans(reading); }); };
  EXPECT_FALSE(document("a"));
  save("a", "one", 5);
  save("b", std::string(3 << 20, 'x') + "\xC3\xA4", 6);
  save("a", "", 7);
  EXPECT_EQ(document("a"), "");
  EXPECT_EQ(document("b")->size(), (3U << 20) + 2);
  ASSERT_EQ(all().size(), 2U);
  EXPECT_EQ(all()[0].id, "a");
  EXPECT_EQ(all()[0].summary, "s");
  EXPECT_EQ(all()[0].received, utc_time(7));
  const auto drop = [&] { return write([&](Writing& db) { return delete_plan(db, "b"); }); };
  EXPECT_TRUE(drop());
  EXPECT_FALSE(drop());
  write([&](Writing& db) {
    return static_cast<sql::Connection&>(db).exec("UPDATE plans SET document = ?1", sql::Blob());
  });
  const auto damaged = reader_of(*store_).inspect([&](Reading& reading) -> Result<> {
    TRY(plan_document(reading, "a"));
    return {};
  });
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kCorruption);
}

TEST_P(Page, OfTooManyPlansTheOldestGo) {
  write([&](Writing& db) -> Result<> {
    for (std::int64_t i = 0; i < kMostPlans + 3; ++i)
      TRY(save_plan(db, {.id = std::to_string(i), .summary = "{}", .document = "{}"},
                    utc_time(i == 1 ? 5000 : i)));
    return {};
  });
  const auto left = read([&](Reading& reading) { return plans(reading); });
  ASSERT_EQ(left.size(), static_cast<std::size_t>(kMostPlans));
  EXPECT_EQ(left.front().id, "1");
  EXPECT_EQ(left.back().id, "4");
}

TEST_P(Page, RunsAreReadWithWhatTheyUsedAndWhoWasBesideThem) {
  const auto add = [&](std::string name, std::int64_t begin, std::int64_t end, std::string host) {
    frames::SessionWriter writer;
    auto body = frames::session_body(RunId::random(), "supervisor");
    body.run_name = name;
    body.host = std::move(host);
    body.started = boot_time(begin);
    codec::FactsBody facts;
    facts.facts = {{codec::FactKind::kTag, "corral.letter", name},
                   {codec::FactKind::kTag, "corralled", "no"},
                   {codec::FactKind::kInfo, "device.gpu0.uuid", "\"GPU-a\""},
                   {codec::FactKind::kInfo, "device.gpu0.name", "\"H100\""}};
    append(writer.frame(body));
    append(writer.frame(facts));
    append(
        writer.frame(codec::RunEndBody{.time = boot_time(end), .exit_code = 0, .exit_signal = {}}));
    return body.workload;
  };
  const WorkloadId mine = add("mine", 5000, 9000, "node8");
  add("before", 3000, 5000, "node8");
  add("beside", 3000, 5001, "node8");
  add("after", 9000, 9500, "node8");
  add("elsewhere", 5000, 9000, "node9");
  const auto runs = read([&](Reading& reading) { return runs_of_workload(reading, mine); });
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(tag_of(runs[0], "corral.letter"), "mine");
  EXPECT_EQ(runs[0].tags.size(), 1U);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(runs[0].uuids, (Pairs{{"gpu0", "GPU-a"}}));
  EXPECT_EQ(runs[0].end - runs[0].start, Nanos(4000));
  const auto beside = read([&](Reading& reading) { return neighbours_of(reading, mine, runs); });
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_EQ(beside[0].name, "beside");
  const auto all =
      read([&](Reading& reading) { return runs_of_experiment(reading, std::nullopt); });
  ASSERT_EQ(all.size(), 6U) << "that of the fixture, too";
  for (const SharingRun& run : all) {
    EXPECT_EQ(tag_of(run, "corral.letter"), run.name == "calm-otter" ? "" : run.name);
  }
  EXPECT_TRUE(read([&](Reading& reading) {
                return runs_of_experiment(reading, ExperimentId{77});
              }).empty());
}

}  // namespace
}  // namespace corral::store::page
