// Views, boards and notes: saved on the server by users.
#include <semaphore>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

class Saved : public HandlerTest {
 protected:
  void SetUp() override {
    const auto frame = writer_.frame(frames::session_body(run_, "supervisor"));
    ASSERT_TRUE(store_->append(std::span(&frame, 1)));
  }
  // "400 text: must be ..." of an error.
  std::string error_of(Method method, std::string_view target, std::string body = {}) {
    const Response response = send(method, target, std::move(body));
    const Json json = json_of(response);
    const Json* error = json.find("error");
    if (error == nullptr) return response.body;
    return std::to_string(response.status) + ' ' + error->get_string("field");
  }
  static std::string body_of(std::string_view name, std::string_view text) {
    Json json(Json::Object{});
    json.set(std::string(name), Json(text));
    return json.dump();
  }

  const RunId run_ = RunId::random();
  const std::string notes_ = "/api/corral/v1/runs/" + run_.hex() + "/notes";
  frames::SessionWriter writer_;
};

constexpr std::string_view kViews = "/api/corral/v1/views";
constexpr std::string_view kBoards = "/api/corral/v1/boards";

TEST_F(Saved, AViewComesBackAsItWasSaved) {
  const std::string state = "{\"x\":[1,\"</script>\xE2\x80\x8F\"]}";
  const std::string id = ok(Method::kPost, kViews, body_of("state", state)).get_string("id");
  EXPECT_EQ(id.size(), 8U);
  EXPECT_EQ(ok(Method::kPost, kViews, body_of("state", state)).get_string("id"), id);
  const Json view = ok(Method::kGet, std::string(kViews) + "/" + id);
  EXPECT_EQ(view.get_string("state"), state);
  EXPECT_EQ(view.get_string("id"), id);
  EXPECT_GT(view.get_int("created_ns"), 0);
}

TEST_F(Saved, WhatIsNoStateIsRefused) {
  EXPECT_EQ(error_of(Method::kPost, kViews, "{}"), "400 state");
  EXPECT_EQ(error_of(Method::kPost, kViews, R"({"state":7})"), "400 state");
  EXPECT_EQ(error_of(Method::kPost, kViews, R"({"state":""})"), "400 state");
  EXPECT_EQ(error_of(Method::kPost, kViews, R"({"state":"a\u0000b"})"), "400 state");
  EXPECT_EQ(error_of(Method::kPost, kViews, R"({"state":"a","id":"b"})"), "400 id");
  EXPECT_EQ(error_of(Method::kPost, kViews, body_of("state", std::string((256 << 10) + 1, 'x'))),
            "400 state");
  ok(Method::kPost, kViews, body_of("state", std::string(256 << 10, 'x')));
  EXPECT_EQ(error_of(Method::kGet, std::string(kViews) + "/aaaaaaaa"), "404 ");
  EXPECT_EQ(error_of(Method::kGet, std::string(kViews) + "/%27%22"), "404 ");
}

TEST_F(Saved, BoardsAreSavedUnderAnyName) {
  const std::string name = "<b>\xD7\xA9 / \xF0\x9F\x98\x80";
  const std::string target = std::string(kBoards) + "/%3Cb%3E%D7%A9%20%2F%20%F0%9F%98%80";
  const Json saved = ok(Method::kPut, target, R"({"state":"one","expected_updated_ns":"0"})");
  EXPECT_EQ(saved.get_string("name"), name);
  const std::string updated = saved.get_string("updated_ns");
  const std::string again =
      ok(Method::kPut, target, R"({"state":"two","expected_updated_ns":")" + updated + "\"}")
          .get_string("updated_ns");
  EXPECT_NE(again, updated);
  EXPECT_EQ(error_of(Method::kPut, target,
                     R"({"state":"lost","expected_updated_ns":")" + updated + "\"}"),
            "409 expected_updated_ns");
  EXPECT_EQ(
      ok(Method::kGet, kBoards).dump(),
      Json(Json::Object{{"boards", Json::Array{Json::Object{
                                       {"name", name}, {"updated_ns", again}, {"state", "two"}}}}})
          .dump());
  ok(Method::kDelete, target);
  EXPECT_EQ(error_of(Method::kDelete, target), "404 ");
  EXPECT_EQ(ok(Method::kGet, kBoards).dump(), R"({"boards":[]})");
  EXPECT_EQ(
      error_of(Method::kPut, target, R"({"state":"lost","expected_updated_ns":")" + again + "\"}"),
      "409 expected_updated_ns")
      << "somebody has removed it";
}

TEST_F(Saved, ListsOfRunsAreSavedBesideBoards) {
  const std::string target = "/api/corral/v1/lists/mine";
  const std::string updated =
      ok(Method::kPut, target, R"({"state":"?q=x","expected_updated_ns":"0"})")
          .get_string("updated_ns");
  ok(Method::kPut, std::string(kBoards) + "/mine", R"({"state":"board"})");
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/lists").dump(),
            R"({"lists":[{"name":"mine","updated_ns":")" + updated + R"(","state":"?q=x"}]})");
  EXPECT_EQ(error_of(Method::kPut, target, R"({"state":"?q=y","expected_updated_ns":"0"})"),
            "409 expected_updated_ns");
  EXPECT_EQ(error_of(Method::kPut, target + std::string(251, 'x'), R"({"state":"s"})"), "400 list");
  ok(Method::kDelete, target);
  EXPECT_EQ(error_of(Method::kDelete, target), "404 ");
  EXPECT_NE(ok(Method::kGet, kBoards).dump(), R"({"boards":[]})");
}

TEST_F(Saved, ReportsHaveNamesOfTheirOwn) {
  const std::string target = "/api/corral/v1/reports/mine";
  ok(Method::kPut, target, R"({"state":"text","expected_updated_ns":"0"})");
  ok(Method::kPut, "/api/corral/v1/lists/mine", R"({"state":"?q=x","expected_updated_ns":"0"})");
  EXPECT_EQ(error_of(Method::kPut, target, R"({"state":"other","expected_updated_ns":"0"})"),
            "409 expected_updated_ns");
  EXPECT_TRUE(ok(Method::kGet, "/api/corral/v1/reports").dump().find(R"("state":"text")") !=
              std::string::npos);
  ok(Method::kDelete, target);
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/reports").dump(), R"({"reports":[]})");
  EXPECT_EQ(error_of(Method::kPut, target + std::string(251, 'x'), R"({"state":"s"})"),
            "400 report");
}

TEST_F(Saved, NamesOfBoardsHaveABound) {
  std::string characters;  // two bytes each
  for (int i = 0; i < 250; ++i) characters += "%C3%A4";
  const std::string target = std::string(kBoards) + "/" + characters;
  ok(Method::kPut, target, R"({"state":"s"})");
  EXPECT_EQ(error_of(Method::kPut, target + "x", R"({"state":"s"})"), "400 board");
  EXPECT_EQ(error_of(Method::kPut, std::string(kBoards) + "/b", "{}"), "400 state");
}

TEST_F(Saved, NotesAreWrittenChangedAndRemoved) {
  const std::string time = "1763712000000000001";
  const Json first =
      ok(Method::kPost, notes_, R"({"time_ns":")" + time + R"(","text":"here it \u2714"})");
  EXPECT_EQ(first.get_string("time_ns"), time);
  EXPECT_EQ(first.get_string("text"), "here it \xE2\x9C\x94");
  const Json second = ok(Method::kPost, notes_, R"({"text":"all","time_ns":null})");
  EXPECT_TRUE(second.find("time_ns")->is_null());
  Json all = ok(Method::kGet, notes_);
  ASSERT_EQ(all.find("notes")->as_array()->size(), 2U);
  EXPECT_EQ(all.find("notes")->as_array()->at(0).dump(), first.dump());
  const std::string note = notes_ + "/" + std::to_string(first.get_int("id"));
  const Json changed = ok(Method::kPut, note, R"({"text":"anew"})");
  EXPECT_TRUE(changed.find("time_ns")->is_null());
  EXPECT_EQ(changed.get_string("created_ns"), first.get_string("created_ns"));
  ok(Method::kDelete, note);
  all = ok(Method::kGet, notes_);
  ASSERT_EQ(all.find("notes")->as_array()->size(), 1U);
  EXPECT_EQ(all.find("notes")->as_array()->at(0).dump(), second.dump());
  EXPECT_EQ(error_of(Method::kPut, note, R"({"text":"gone"})"), "404 ");
  EXPECT_EQ(error_of(Method::kDelete, note), "404 ");
  EXPECT_EQ(error_of(Method::kDelete, notes_ + "/x"), "400 note");
}

TEST_F(Saved, ANoteMarksASpan) {
  const Json span = ok(Method::kPost, notes_, R"({"time_ns":"5","end_ns":"9","text":"slow"})");
  EXPECT_EQ(span.get_string("time_ns") + span.get_string("end_ns"), "59");
  EXPECT_EQ(ok(Method::kGet, notes_).find("notes")->as_array()->at(0).dump(), span.dump());
  const std::string target = notes_ + "/" + std::to_string(span.get_int("id"));
  const Json longer = ok(Method::kPut, target, R"({"time_ns":"5","end_ns":"12","text":"slow"})");
  EXPECT_EQ(longer.get_string("end_ns"), "12");
  EXPECT_TRUE(ok(Method::kPut, target, R"({"time_ns":"5","text":"a"})").find("end_ns")->is_null());
  for (const char* body :
       {R"({"end_ns":"9","text":"a"})", R"({"time_ns":"9","end_ns":"9","text":"a"})",
        R"({"time_ns":"9","end_ns":"8","text":"a"})",
        R"({"time_ns":"9","end_ns":"late","text":"a"})",
        R"({"time_ns":"5","end_ns":"9","finding":"a","mark":"kept"})"})
    EXPECT_EQ(error_of(Method::kPost, notes_, body), "400 end_ns") << body;
}

TEST_F(Saved, AMarkIsANoteAboutAFinding) {
  const Json mark =
      ok(Method::kPost, notes_, R"({"finding":"slow rank 3","mark":"dismissed","text":""})");
  EXPECT_EQ(mark.get_string("mark"), "dismissed");
  EXPECT_EQ(ok(Method::kGet, notes_).find("notes")->as_array()->at(0).dump(), mark.dump());
  ok(Method::kPost, notes_, R"({"finding":"slow rank 3","mark":"kept"})");
  const Json all = ok(Method::kGet, notes_);
  ASSERT_EQ(all.find("notes")->as_array()->size(), 1U) << "it replaced the one before";
  EXPECT_EQ(all.find("notes")->as_array()->at(0).get_string("mark"), "kept");
  EXPECT_EQ(error_of(Method::kPost, notes_, R"({"finding":"a","mark":"liked"})"), "400 mark");
  EXPECT_EQ(error_of(Method::kPost, notes_, R"({"mark":"kept","text":"a"})"), "400 mark");
  EXPECT_EQ(error_of(Method::kPost, notes_, R"({"finding":"a","text":""})"), "400 text");
  EXPECT_EQ(error_of(Method::kPost, notes_, body_of("finding", std::string(301, 'x'))),
            "400 finding");
}

TEST_F(Saved, ANoteHasAText) {
  for (const char* body :
       {"{}", R"({"text":" \n"})", R"({"text":7})", R"({"text":"a\u0000"})", R"({"time_ns":"5"})"})
    EXPECT_EQ(error_of(Method::kPost, notes_, body), "400 text") << body;
  EXPECT_EQ(error_of(Method::kPost, notes_, R"({"text":"a","time_ns":"soon"})"), "400 time_ns");
  std::string longest;
  for (int i = 0; i < 10'000; ++i) longest += "\xC3\xA4";
  ok(Method::kPost, notes_, body_of("text", longest));
  EXPECT_EQ(error_of(Method::kPost, notes_, body_of("text", longest + "x")), "400 text");
  EXPECT_EQ(send(Method::kPost, "/api/corral/v1/runs/@9/notes", R"({"text":"a"})").status, 404);
}

TEST_F(Saved, EveryChangeOfANoteIsToldToThoseWhoWatch) {
  std::counting_semaphore<> news{0};
  const auto stream = events_.subscribe();
  stream->attach([&] { news.release(); });
  std::string seen;
  const auto told = [&] {
    const std::string wanted = "event: runs\ndata: {\"runs\":[\"" + run_.hex() + "\"]}\n\n";
    while (seen.find(wanted) == std::string::npos) {
      if (!news.try_acquire_for(std::chrono::seconds(60))) return false;
      seen += stream->drain();
    }
    seen.clear();
    return true;
  };
  const Json note = ok(Method::kPost, notes_, R"({"text":"a"})");
  EXPECT_TRUE(told());
  const std::string target = notes_ + "/" + std::to_string(note.get_int("id"));
  ok(Method::kPut, target, R"({"text":"b"})");
  EXPECT_TRUE(told());
  ok(Method::kDelete, target);
  EXPECT_TRUE(told());
  stream->attach(nullptr);
}

}  // namespace
}  // namespace corral::server
