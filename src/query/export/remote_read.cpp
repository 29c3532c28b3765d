#include "query/export/remote_read.h"

#include <fmt/core.h>
#include <re2/re2.h>
#include <snappy-c.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codec/protobuf.h"
#include "query/series/cursor.h"
#include "query/series/inputs.h"
#include "query/series/point_stream.h"

namespace corral::query {
namespace {

using codec::ProtoField;
using codec::ProtoReader;
using codec::ProtoWire;
using codec::ProtoWriter;

constexpr std::int64_t kMillisecond = 1'000'000;  // ns
constexpr std::size_t kMostQueries = 16;
constexpr std::size_t kMostMatchers = 50;
// In one request; they are kept together, and slow ones cost by the run.
constexpr std::size_t kMostPatterns = 20;
constexpr std::size_t kMostPattern = 1000;  // bytes
constexpr std::int64_t kPatternMemory = 256 << 10;
// Points that are read for a request, of which some share a millisecond.
constexpr std::size_t kMostPoints = 20'000'000;
constexpr std::size_t kPage = 500;  // runs
// Prometheus' own NaN; another one says that a series ended.
constexpr std::uint64_t kNaN = 0x7ff8000000000001;
// Matchers of these select few series.
constexpr std::array<std::string_view, 6> kSelective = {"__name__", "corral_metric", "run",
                                                        "run_name", "experiment",    "workload"};

// By name. An absent label is an empty one.
using Labels = std::map<std::string, std::string, std::less<>>;

struct Matcher {
  enum class Type : std::uint8_t { kEqual = 0, kNotEqual = 1, kLike = 2, kNotLike = 3 };
  Type type = Type::kEqual;
  std::string name, value;
  std::shared_ptr<const re2::RE2> pattern{};

  [[nodiscard]] bool matches(std::string_view text) const {
    const bool negative = type == Type::kNotEqual || type == Type::kNotLike;
    const bool found =
        pattern ? re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *pattern)
                : text == value;
    return found != negative;
  }
  // It asks for some values of such a label.
  [[nodiscard]] bool selects() const {
    return (type == Type::kEqual || type == Type::kLike) && !matches("") &&
           std::ranges::find(kSelective, name) != kSelective.end();
  }
};

struct Query {
  std::int64_t start = 0, end = 0;  // ms, both inside
  std::vector<Matcher> matchers;

  [[nodiscard]] bool matches(std::string_view name, std::string_view value) const {
    return std::ranges::all_of(matchers, [&](const Matcher& matcher) {
      return matcher.name != name || matcher.matches(value);
    });
  }
  // A series with these labels; `metric` as Corral has it.
  [[nodiscard]] bool matches(const Labels& labels, std::string_view metric) const {
    return std::ranges::all_of(matchers, [&](const Matcher& matcher) {
      if (matcher.name == "corral_metric") return matcher.matches(metric);
      const auto label = labels.find(matcher.name);
      return matcher.matches(label == labels.end() ? std::string_view() : label->second);
    });
  }
  // The value that the label must have.
  [[nodiscard]] std::optional<std::string> only(std::string_view name) const {
    for (const Matcher& matcher : matchers)
      if (matcher.name == name && matcher.type == Matcher::Type::kEqual && !matcher.value.empty())
        return matcher.value;
    return std::nullopt;
  }
};

tl::unexpected<Error> malformed() {
  return fail(Code::kInvalidArgument, "this is no remote read request of Prometheus");
}

Result<std::string> unpack(std::string_view packed) {
  std::size_t size = 0;
  if (::snappy_uncompressed_length(packed.data(), packed.size(), &size) != SNAPPY_OK)
    return malformed();
  if (size > kMostRemoteRequest) return fail(Code::kTooLarge, "the request is too large");
  std::string text(size, '\0');
  if (::snappy_uncompress(packed.data(), packed.size(), text.data(), &size) != SNAPPY_OK)
    return malformed();
  return text;
}

std::string pack(const std::string& text) {
  std::size_t size = ::snappy_max_compressed_length(text.size());
  std::string packed(size, '\0');
  CORRAL_ASSERT(::snappy_compress(text.data(), text.size(), packed.data(), &size) == SNAPPY_OK);
  packed.resize(size);
  return packed;
}

// `patterns` counts them.
Result<Matcher> parse_matcher(std::string_view bytes, std::size_t& patterns) {
  Matcher matcher;
  ProtoReader reader(bytes);
  for (ProtoField field; reader.next(field);) {
    if (field.is(1, ProtoWire::kVarint)) {
      if (field.value > 3) return malformed();
      matcher.type = static_cast<Matcher::Type>(field.value);
    }
    if (field.is(2, ProtoWire::kBytes)) matcher.name = field.bytes;
    if (field.is(3, ProtoWire::kBytes)) matcher.value = field.bytes;
  }
  if (!reader.ok()) return malformed();
  if (matcher.type != Matcher::Type::kLike && matcher.type != Matcher::Type::kNotLike)
    return matcher;
  if (++patterns > kMostPatterns || matcher.value.size() > kMostPattern)
    return fail(Code::kUnprocessable,
                fmt::format("a request has at most {} patterns, each of {} bytes at most",
                            kMostPatterns, kMostPattern));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  options.set_dot_nl(true);
  matcher.pattern = std::make_shared<const re2::RE2>(matcher.value, options);
  if (!matcher.pattern->ok())
    return fail(Code::kInvalidArgument, fmt::format("the pattern of the label {} is malformed: {}",
                                                    matcher.name, matcher.pattern->error()));
  return matcher;
}

Result<Query> parse_query(std::string_view bytes, std::size_t& patterns) {
  Query query;
  ProtoReader reader(bytes);
  for (ProtoField field; reader.next(field);) {
    if (field.is(1, ProtoWire::kVarint)) query.start = static_cast<std::int64_t>(field.value);
    if (field.is(2, ProtoWire::kVarint)) query.end = static_cast<std::int64_t>(field.value);
    if (!field.is(3, ProtoWire::kBytes)) continue;
    if (query.matchers.size() == kMostMatchers) return malformed();
    query.matchers.push_back(TRY(parse_matcher(field.bytes, patterns)));
  }
  if (!reader.ok()) return malformed();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kMillisecond - 1;
  query.start = std::clamp(query.start, -kMost, kMost);
  query.end = std::clamp(query.end, -kMost, kMost);
  if (std::ranges::none_of(query.matchers, &Matcher::selects))
    return fail(Code::kUnprocessable,
                "name a metric, or give a label run, run_name, experiment or workload");
  return query;
}

Result<std::vector<Query>> parse_request(std::string_view text) {
  std::vector<Query> queries;
  std::size_t patterns = 0;
  ProtoReader reader(text);
  for (ProtoField field; reader.next(field);) {
    if (!field.is(1, ProtoWire::kBytes)) continue;
    if (queries.size() == kMostQueries) return malformed();
    queries.push_back(TRY(parse_query(field.bytes, patterns)));
  }
  if (!reader.ok()) return malformed();
  return queries;
}

std::string_view owner_of(const store::Series& series) {
  switch (series.owner) {
    case metric::Owner::kWorkload:
      return "workload";
    case metric::Owner::kHost:
      return "host";
    default:
      return "";
  }
}

Labels labels_of(const store::Run& run, const store::Series& series) {
  Labels labels{{"__name__", prometheus_name(series.name)},
                {"run", run.id.hex()},
                {"run_name", run.name},
                {"experiment", run.experiment_name},
                {"workload", run.workload_name},
                {"owner", std::string(owner_of(series))},
                {"source", series.source},
                {"host", series.host.empty() ? run.host : series.host}};
  std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
  return labels;
}

// The labels of a run's series, in their order. The metrics' own names tell those apart that would
// be alike.
std::vector<Labels> labels_of_all(const store::Run& run, const std::vector<store::Series>& all) {
  std::vector<Labels> labels;
  std::map<Labels, std::size_t> count;
  for (const store::Series& series : all) {
    labels.push_back(labels_of(run, series));
    ++count[labels.back()];
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (count[labels[i]] > 1) labels[i]["corral_metric"] = all[i].name;
  return labels;
}

// Answers the queries of one request.
class Answerer {
 public:
  Answerer(const store::Reader& store, const std::function<bool()>& left)
      : store_(store), left_(left) {}

  Result<std::string> answer(const std::vector<Query>& queries) {
    ProtoWriter response;
    for (const Query& query : queries) {
      found_.clear();
      TRY(find(query));
      ProtoWriter result;
      for (const auto& [labels, text] : found_) result.bytes(1, text);
      response.message(1, result);
    }
    return response.text();
  }

 private:
  Result<> find(const Query& query) {
    store::RunFilter filter{.limit = kPage};
    if (const auto id = query.only("run")) {
      const auto run = RunId::parse(*id);
      const auto known = run ? TRY(store_.run(*run)) : std::nullopt;
      const bool listed = known && known->lifecycle == store::Lifecycle::kActive;
      return listed ? read(query, *known) : Result<>();
    }
    if (const auto name = query.only("experiment")) {
      const auto experiments = TRY(store_.experiments());
      const auto known = std::ranges::find(experiments, *name, &store::Experiment::name);
      if (known == experiments.end()) return {};
      filter.experiment = known->id;
    }
    for (;;) {
      const store::RunPage page = TRY(store_.runs(filter));
      for (const store::Run& run : page.runs) TRY(read(query, run));
      if (page.runs.size() < kPage) return {};
      filter.before = std::pair(page.runs.back().start, page.runs.back().id);
    }
  }

  [[nodiscard]] Result<> check_waits() const {
    if (left_()) return fail(Code::kUnavailable, "nobody waits for the answer");
    return {};
  }

  struct Wanted {
    SeriesId id;
    Labels labels;
    std::int64_t from = 0, to = 0;  // ns, half open
  };

  // The series of a run that match, with their samples. A client may log points that are older than
  // its run.
  Result<> read(const Query& query, const store::Run& run) {
    TRY(check_waits());
    const bool apart = ns_of(std::max(run.newest, run.start)) < query.start * kMillisecond;
    const bool meant = query.matches("run", run.id.hex()) && query.matches("run_name", run.name) &&
                       query.matches("experiment", run.experiment_name) &&
                       query.matches("workload", run.workload_name);
    if (apart || !meant) return {};
    if (++runs_ > kMostRemoteRuns)
      return fail(Code::kUnprocessable,
                  fmt::format("more than {} runs would have to be looked through: give a label run "
                              "or experiment, or a later time",
                              kMostRemoteRuns));
    std::vector<Wanted> wanted = TRY(wanted_of(query, run));
    if ((series_ += wanted.size()) > kMostRemoteSeries)
      return fail(Code::kUnprocessable,
                  fmt::format("more than {} series match: give more labels", kMostRemoteSeries));
    for (std::size_t at = 0; at < wanted.size(); at += kSeriesAtOnce) {
      const auto lot = std::span(wanted).subspan(at, std::min(kSeriesAtOnce, wanted.size() - at));
      std::vector<SeriesId> ids;
      for (const Wanted& one : lot) ids.push_back(one.id);
      const auto read_lot = [&](store::PointView& view) -> Result<> {
        for (Wanted& one : lot) TRY(read_series(view, one));
        return {};
      };
      TRY(store_.view(ids, read_lot));
    }
    return {};
  }

  Result<std::vector<Wanted>> wanted_of(const Query& query, const store::Run& run) {
    const std::vector<store::Series> all = TRY(store_.series_of(run.id));
    std::vector<Labels> labels = labels_of_all(run, all);
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < all.size(); ++i) {
      TRY(check_waits());
      Wanted one{.id = all[i].id,
                 .labels = std::move(labels[i]),
                 .from = query.start * kMillisecond,
                 .to = (query.end + 1) * kMillisecond};
      // Shared ones go on after the run.
      if (all[i].owner != metric::Owner::kRun) {
        one.from = std::max(one.from, ns_of(run.start));
        one.to = std::min(one.to, ns_of(run.end.value_or(run.newest)) + 1);
      }
      const bool empty = all[i].points == 0 || one.from >= one.to ||
                         ns_of(all[i].first) >= one.to || ns_of(all[i].last_time) < one.from;
      const std::string& name = all[i].name;
      if (!empty && query.matches(one.labels, name)) wanted.push_back(std::move(one));
    }
    return wanted;
  }

  // Damaged points are left out: the protocol has no place to tell of them.
  Result<> read_series(store::PointView& view, Wanted& wanted) {
    ProtoWriter text;
    for (const auto& [name, value] : wanted.labels)
      text.message(1, ProtoWriter().bytes(1, name).bytes(2, value));
    Cursor cursor(view, wanted.id, store::Channel::kValue);
    PointStream stream = TRY(PointStream::open(cursor, wanted.from, wanted.to, {}));
    Sample sample;
    for (PointSpan span = TRY(stream.next()); span.size() > 0; span = TRY(stream.next())) {
      TRY(check_waits());
      points_ += span.size();
      for (std::size_t i = 0; i < span.size(); ++i) {
        const std::int64_t ms = floor_ms(span.times[i]);
        if (sample.there && ms != sample.ms) put(text, sample);
        sample = {.ms = ms, .value = span.values[i], .there = true};
      }
      if (samples_ > kMostRemoteSamples || points_ > kMostPoints)
        return fail(Code::kUnprocessable,
                    fmt::format("more than {} points match: give more labels or less time",
                                samples_ > kMostRemoteSamples ? kMostRemoteSamples : kMostPoints));
    }
    if (!sample.there) return {};
    put(text, sample);
    found_.emplace(std::move(wanted.labels), text.text());
    return {};
  }

  struct Sample {
    std::int64_t ms = 0;
    double value = 0;
    bool there = false;
  };
  static std::int64_t floor_ms(std::int64_t ns) {
    return ns / kMillisecond - (ns % kMillisecond < 0 ? 1 : 0);
  }
  void put(ProtoWriter& text, const Sample& sample) {
    const bool nan = sample.value != sample.value;
    ProtoWriter one;
    one.fixed(1, nan ? kNaN : std::bit_cast<std::uint64_t>(sample.value));
    one.number(2, static_cast<std::uint64_t>(sample.ms));
    text.message(2, one);
    ++samples_;
  }

  const store::Reader& store_;
  const std::function<bool()>& left_;
  std::map<Labels, std::string> found_;  // a query's, in the order that Prometheus wants
  std::size_t runs_ = 0, series_ = 0, samples_ = 0, points_ = 0;
};

}  // namespace

struct RemoteRead::Parts {
  std::vector<Query> queries;
};

Result<RemoteRead> RemoteRead::parse(std::string_view request) {
  const std::string text = TRY(unpack(request));
  return RemoteRead(std::make_shared<const Parts>(Parts{.queries = TRY(parse_request(text))}));
}

Result<std::string> RemoteRead::answer(const store::Reader& store,
                                       const std::function<bool()>& left) const {
  return pack(TRY(Answerer(store, left).answer(parts_->queries)));
}

std::string prometheus_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out += '_';
    out += letter || digit ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace corral::query
