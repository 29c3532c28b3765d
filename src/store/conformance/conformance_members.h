// Fixture for tests of runs that several supervisors record (conformance_members.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance/conformance_hosts.h"
#include "store/tables/logs.h"
#include "store/tables/members.h"

namespace corral::store {

struct MemberExit {
  std::int64_t at = 0;
  int code = 0;
  std::string outcome = "finished";
  codec::EndReason reason = codec::EndReason::kExit;
};

class StoreMembers : public StoreHosts {
 protected:
  // The rank joins the run on a host of its own.
  void join(testing::SessionWriter& writer, std::int64_t rank, std::uint32_t attempt = 0,
            std::int64_t started = 1000) {
    start(writer, {.host = "node" + std::to_string(rank),
                   .machine = "m" + std::to_string(rank),
                   .started = started,
                   .run = run_,
                   .attempt = attempt,
                   .rank = rank});
  }
  void leave(testing::SessionWriter& writer, const MemberExit& exit) {
    codec::FactsBody facts;
    facts.facts.push_back(
        {.kind = codec::FactKind::kTag, .key = "corral.outcome", .value = exit.outcome});
    if (exit.outcome != "finished")
      facts.facts.push_back({.kind = codec::FactKind::kTag,
                             .key = "corral.outcome.reason",
                             .value = exit.outcome + "!"});
    append({writer.frame(facts), writer.frame(codec::RunEndBody{.time = boot_time(exit.at),
                                                                .reason = exit.reason,
                                                                .exit_code = exit.code,
                                                                .exit_signal = {}})});
  }
  void print(testing::SessionWriter& writer, std::int64_t offset, std::string text) {
    append({writer.frame(codec::LogBody{.time = boot_time(2000),
                                        .stream = codec::LogStream::kStdout,
                                        .offset = offset,
                                        .bytes = std::move(text)})});
  }
  store::Run stored() { return **reader_of(*store_).run(run_); }
  std::string tag(const std::string& key) {
    const store::Run found = stored();
    for (const auto& [name, value] : found.tags)
      if (name == key) return value;
    return "";
  }
  template <class Read>
  auto read(Read&& ask) {
    std::optional<std::decay_t<decltype(*ask(std::declval<Reading&>()))>> found;
    EXPECT_TRUE(reader_of(*store_).inspect([&](Reading& reading) -> Result<> {
      found = TRY(ask(reading));
      return {};
    }));
    return *found;
  }
  std::vector<page::RunMember> members() {
    return read([&](Reading& reading) { return page::run_members(reading, run_); });
  }
  std::string output(std::int64_t member) {
    const auto found = read([&](Reading& reading) {
      return page::log_page(reading, {.run = run_, .member = member, .stream = {}, .time = {}});
    });
    std::string text;
    for (const LogChunk& chunk : found.chunks) text += chunk.bytes;
    return text;
  }

  const RunId run_ = RunId::random();
};

}  // namespace corral::store
