// The page's list over many runs: requests of POST /runs/search and its companions, answered by the
// server's handlers in this process, without HTTP.
//
//   corral_bench_runs [--store DIR|URL] [--runs 10000] [--rounds 15]
//
// Every run has 30 facts about its machine, 10 params, 5 tags, 40 series of the collector's names
// and a loss; half of them run in pairs. Prints one JSON object: medians in ms, and "first" where
// the first answer differs.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <deque>

#include "core/json.h"
#include "flags.h"
#include "measure.h"
#include "server/core/router.h"
#include "store_access.h"

namespace corral::bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kSeries = 40;

std::string experiment_of(std::size_t i) { return fmt::format("experiment-{}", i % 5); }

codec::SessionBody session_of(std::size_t i, std::size_t runs, RunId id) {
  codec::SessionBody body;
  body.run = id;
  body.experiment = experiment_of(i / 10);
  if (i / 10 % 2 == 0) body.workload_name = fmt::format("w{}", i / 2);
  body.workload = body.workload_name.empty() ? own_workload_of(id)
                                             : workload_id_of(body.experiment, body.workload_name);
  body.run_name = fmt::format("run-{}", i);
  body.host = fmt::format("node{}", i % 7);
  body.role = "supervisor";
  body.boot_id = "boot";
  const auto ago = static_cast<std::int64_t>(runs - i) * 60 * kSecond;
  body.anchor.utc_minus_boot = Nanos(1'790'000'000 * kSecond - ago);
  body.started = boot_time(kSecond);
  return body;
}

codec::FactsBody facts_of(std::size_t i) {
  using Kind = codec::FactKind;
  codec::FactsBody body;
  const auto add = [&](Kind kind, std::string key, std::string value) {
    body.facts.push_back({kind, std::move(key), std::move(value)});
  };
  add(Kind::kInfo, "command", fmt::format(R"(["python3","train.py","--lr","0.{}"])", i % 10));
  for (int k = 0; k < 30; ++k)
    add(Kind::kInfo, fmt::format("fact{:02}", k), fmt::format("\"value {} of the machine\"", k));
  add(Kind::kParam, "lr", fmt::format("0.{}", 1 + i % 9));
  add(Kind::kParam, "model", fmt::format("resnet{}", 18 + 16 * (i % 3)));
  add(Kind::kParam, "seed", fmt::format("{}", i));
  for (int k = 0; k < 7; ++k)
    add(Kind::kParam, fmt::format("param{}", k), fmt::format("{}", (i + 1) % (2U + 3U * k)));
  add(Kind::kTag, "device", fmt::format("gpu{}", i % 4));
  for (int k = 0; k < 4; ++k)
    add(Kind::kTag, fmt::format("tag{}", k), fmt::format("choice {}", i % (3U + k)));
  return body;
}

codec::SchemaBody schema() {
  codec::SchemaBody body;
  for (std::uint32_t s = 1; s <= kSeries; ++s) {
    codec::SeriesDef def;
    def.id = s;
    def.name = s == 1 ? "loss" : fmt::format("run.measure.of{:02}", s);
    body.series.push_back(std::move(def));
  }
  return body;
}

codec::SamplesBody samples(std::size_t run) {
  codec::SamplesBody body;
  codec::SampleGroup group;
  for (int k = 0; k < 20; ++k) group.times.push_back(boot_time((2 + k) * kSecond));
  for (std::uint32_t s = 1; s <= kSeries; ++s) {
    codec::Column column{.series = s, .present = {}, .values = {}};
    for (int k = 0; k < 20; ++k)
      column.values.push_back(std::sin(static_cast<double>(run) + s) + 1.0 / (1 + k));
    group.columns.push_back(std::move(column));
  }
  body.groups.push_back(std::move(group));
  return body;
}

// One run that ended, as encoded frames.
std::vector<codec::Bytes> frames_of(std::size_t i, std::size_t runs) {
  codec::FrameHeader header;
  header.session = SessionId::random();
  header.first = header.last = 1;
  std::vector<codec::Bytes> frames;
  frames.push_back(codec::encode(header, session_of(i, runs, RunId::random())));
  codec::Bundle bundle;
  bundle.add(schema());
  bundle.add(samples(i));
  bundle.add(facts_of(i));
  header.first = header.last = 2;
  frames.push_back(bundle.finish(header));
  return frames;
}

void fill(store::Store& store, std::size_t runs) {
  constexpr std::size_t kAtOnce = 50;
  for (std::size_t i = 0; i < runs; i += kAtOnce) {
    std::deque<codec::Bytes> bytes;
    for (std::size_t k = i; k < std::min(runs, i + kAtOnce); ++k) {
      for (codec::Bytes& frame : frames_of(k, runs)) bytes.push_back(std::move(frame));
    }
    append(store, {bytes.begin(), bytes.end()});
  }
  settle(store);
}

struct Question {
  const char* name;
  std::string path;
  std::string body;  // empty: GET
};

std::vector<Question> searches() {
  const char* search = "/api/corral/v1/runs/search";
  const std::string facets =
      R"("facets":["status","collocation","host","model","device","tags","params"])";
  return {
      {"page", search, "{}"},
      {"page_last", search, R"({"offset":9800})"},
      {"columns", search,
       R"({"columns":["metrics.loss","metrics.loss.min","params.lr","params.seed","tags.tag1"]})"},
      {"filter", search, R"({"filter":"metrics.loss < 0.5 and params.lr = '0.1'"})"},
      {"text", search, R"({"text":"resnet34 node3"})"},
      {"choices", search, R"({"where":{"params.lr":["0.1"],"host":["node1","node2"]}})"},
      {"order", search, R"({"order":[{"by":"metrics.loss.min","descending":true}]})"},
      {"facets", search, "{" + facets + "}"},
      {"all", search,
       R"({"filter":"metrics.loss < 0.5","text":"train.py","where":{"collocation":["together"]},)"
       R"("order":[{"by":"params.lr"}],"columns":["metrics.loss","params.lr"],)" +
           facets + "}"},
  };
}

server::Response ask(server::Context& context, const Question& question) {
  server::Request request;
  if (!question.body.empty()) request.method = server::Method::kPost;
  if (!server::parse_target(question.path, request)) give_up("no such path");
  request.body = question.body;
  auto response = server::route(std::move(request), context);
  if (response.status != 200) give_up(std::string(question.name) + ": " + response.body);
  return response;
}

// The page's questions about the visible rows, and about all of them.
std::vector<Question> companions(server::Context& context) {
  const std::string api = "/api/corral/v1/";
  const Json page = must(Json::parse(ask(context, searches().front()).body), "a page");
  Json::Array ids;
  for (const Json& run : *page.find("runs")->as_array()) ids.push_back(run.get_string("id"));
  const Json& first = page.find("runs")->as_array()->front();
  Json::Array experiments;
  for (const auto& one : must(context.reader.experiments(), "experiments"))
    experiments.push_back(std::to_string(one.id.value));
  const auto summary = [](std::string_view list, Json::Array of) {
    Json body{Json::Object{}};
    body.set(std::string(list), std::move(of));
    body.set("metrics", Json::Array{"loss", "run.measure.of02"});
    body.set("of", Json::Array{"last", "mean"});
    return body.dump();
  };
  Json sparklines{Json::Object{}};
  sparklines.set("runs", ids);
  return {{"sparklines", api + "sparklines", sparklines.dump()},
          {"summaries_of_page", api + "summaries", summary("runs", ids)},
          {"summaries_of_all", api + "summaries", summary("experiments", experiments)},
          {"overview",
           api + "experiments/" + first.get_string("experiment_id") + "/overview?metric=loss", ""}};
}

// In turns by one who sees all, and by one who does not, but sees the same here.
void measure(server::Context& context, const Question& question, std::size_t rounds, Json& out) {
  server::Context member = context;
  member.reader = {context.store, store::Access::all_but({"elsewhere"})};
  const std::string name(question.name);
  const Stopwatch first;
  ask(context, question);
  out.set(name + "_first_ms", first.ms());
  std::vector<double> times, of_member;
  for (std::size_t i = 0; i < rounds; ++i) {
    const Stopwatch watch;
    ask(context, question);
    times.push_back(watch.ms());
    const Stopwatch second;
    ask(member, question);
    of_member.push_back(second.ms());
  }
  out.set(name + "_ms", percentile(times, 0.5));
  out.set(name + "_member_ms", percentile(of_member, 0.5));
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) {
  using namespace corral;
  bench::Flags flags(argc, argv, 1);
  const std::size_t runs = flags.count("runs", 10'000), rounds = flags.count("rounds", 15);
  std::string pattern = (std::filesystem::temp_directory_path() / "corral-bench-XXXXXX").string();
  const bool own = flags.text("store", "").empty();
  if (own && ::mkdtemp(pattern.data()) == nullptr) bench::give_up("no temporary directory");
  const bench::StoreSpec spec{.location = flags.text("store", pattern + "/store"), .data = {}};
  flags.finish();
  Json out{Json::Object{}};
  {
    const auto store = bench::open_store(spec);
    bench::fill(*store, runs);
    server::EventHub events;
    server::Context context{
        *store, {*store, store::Access::everything()}, events, {"bench", utc_time(0)}, [] {}};
    for (const bench::Question& question : bench::searches())
      bench::measure(context, question, rounds, out);
    for (const bench::Question& question : bench::companions(context))
      bench::measure(context, question, rounds, out);
    out.set("peak_rss_mib", static_cast<double>(bench::peak_rss()) / (1 << 20));
  }
  fmt::print("{}\n", out.dump());
  std::error_code ignored;
  if (own) std::filesystem::remove_all(pattern, ignored);
}
