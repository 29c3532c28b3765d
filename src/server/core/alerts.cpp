#include "server/core/alerts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/ids.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "server/core/context.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

namespace alerts = store::alerts;

constexpr std::size_t kMostName = 200;  // characters of a run's name in a message
constexpr Nanos kFirstPause = std::chrono::seconds(5);
constexpr Nanos kLongestPause = std::chrono::minutes(15);
constexpr std::int64_t kMostDoublings = 10;
constexpr Nanos kForgetEvery = std::chrono::hours(1);

// Addresses that are no public host's (RFC 6890).
const std::vector<http::Network>& private_networks() {
  static const std::vector<http::Network> networks = [] {
    std::vector<http::Network> all;
    for (const char* text :
         {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
          "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3",
          "::/127", "64:ff9b::/32", "2001::/23", "2002::/16", "fc00::/7", "fe80::/9", "ff00::/8"})
      all.push_back(http::Network::parse(text).value());
    return all;
  }();
  return networks;
}

// The name of a run, in one line.
std::string short_name(const std::string& name) {
  const std::string text = printable(name);
  return text.size() <= kMostName ? text : to_utf8(text.substr(0, kMostName)) + "...";
}

std::string how_it_ended(const alerts::Candidate& run) {
  if (run.exit_signal) return fmt::format("killed by signal {}", *run.exit_signal);
  if (run.exit_code) return fmt::format("exit status {}", *run.exit_code);
  return run.status == store::RunStatus::kUnknown ? "nobody knows how" : "no exit status is known";
}

std::string where_of(const store::Series& series) {
  return series.source.empty() ? series.name : fmt::format("{} ({})", series.name, series.source);
}

bool is_at(const alerts::Alert& alert, const store::Series& series) {
  return alert.metric.empty() || series.name == alert.metric;
}

// Text of Slack, in which three signs begin something. In chats that are like it, '@' calls people:
// a zero-width space after it keeps it from doing so.
std::string slack_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    if (c == '<') out += "&lt;";
    if (c == '>') out += "&gt;";
    if (c == '@') out += "@\u200b";
    if (std::string_view("&<>@").find(c) == std::string_view::npos) out += c;
  }
  return out;
}

std::string slack_message(const Json& news) {
  std::string text = fmt::format("*{}*\n{}", slack_text(news.get_string("title")),
                                 slack_text(news.get_string("text")));
  if (const std::string url = news.get_string("url"); !url.empty())
    text += fmt::format("\n<{}>", slack_text(url));
  return Json(Json::Object{{"text", text}}).dump();
}

// The address of ntfy's server, and the topic.
std::pair<std::string, std::string> ntfy_parts(const std::string& target) {
  const std::size_t slash = target.find_last_not_of('/');
  const std::string url = target.substr(0, slash + 1);
  const std::size_t at = url.rfind('/');
  return {url.substr(0, at), url.substr(at + 1)};
}

std::string ntfy_message(const Json& news, const std::string& topic) {
  Json::Object message{
      {"topic", topic}, {"title", news.get_string("title")}, {"message", news.get_string("text")}};
  if (const std::string url = news.get_string("url"); !url.empty())
    message.emplace_back("click", url);
  return Json(std::move(message)).dump();
}

}  // namespace

Result<> Alerts::look(UtcTime now, BootTime boot) {
  Found found = TRY(find(now));
  note_runs(found, now, boot);
  complete_ = false;
  const Metrics metrics = TRY(read_metrics(found, boot));
  std::map<News, std::string> news;  // with its document
  for (const Rule& rule : found.rules) {
    for (const Candidate& run : found.runs) {
      if (news.size() >= kMostNews || leaving_) break;
      for (auto& [one, text] : news_of(rule, run, metrics, boot))
        news.emplace(one, document(one, run, text, now));
    }
  }
  const bool all = news.size() < kMostNews && !leaving_;
  TRY(tell(news, now));
  for (const Candidate& run : found.runs) {
    Seen& seen = seen_.at(run.key);
    seen.done = run.ended && seen.read == run.frames;
  }
  complete_ = all;
  looked_ = boot;
  return {};
}

Result<> Alerts::tell(const std::map<News, std::string>& news, UtcTime now) {
  const bool forgets = !told_->empty() && now - forgot_ >= kForgetEvery;
  const auto tell = [&](store::Writing& writing) -> Result<> {
    if (forgets) TRY(alerts::forget(writing, now));
    for (const auto& [one, body] : news) TRY(alerts::tell(writing, one, body, now));
    return {};
  };
  if (!news.empty() || forgets) TRY(store_.change(tell));
  for (const auto& [one, body] : news) told_->insert(one);
  if (!forgets) return {};
  forgot_ = now;
  std::erase_if(*told_, [&](const News& one) { return !seen_.contains(one.run); });
  return {};
}

std::vector<std::pair<Alerts::News, Alerts::Text>> Alerts::news_of(const Rule& rule,
                                                                   const Candidate& run,
                                                                   const Metrics& metrics,
                                                                   BootTime boot) const {
  std::vector<std::pair<News, Text>> news;
  if (!is_for(rule, run, seen_.at(run.key))) return news;
  for (const Kind kind : rule.alert.kinds) {
    const News one{.alert = rule.alert.id, .run = run.key, .kind = kind};
    if (told_->contains(one)) continue;
    if (auto text = judge(kind, rule, run, metrics, boot)) news.emplace_back(one, *std::move(text));
  }
  return news;
}

Result<Alerts::Found> Alerts::find(UtcTime now) {
  Found found;
  const auto read = [&](store::Reading& reading) -> Result<> {
    found = {};
    for (Alert& alert : TRY(alerts::active(reading))) {
      store::Access sees =
          accounts_.required() ? accounts_.access_of(alert.user) : reader_.access();
      found.rules.push_back({.alert = std::move(alert), .sees = std::move(sees)});
    }
    if (found.rules.empty()) return {};
    found.runs = TRY(alerts::candidates(reading, now));
    // alerts::tell() knows of news that other servers tell later.
    if (!told_) told_ = TRY(alerts::told(reading));
    return {};
  };
  TRY(reader_.inspect(read));
  if (!told_) told_.emplace();
  return found;
}

void Alerts::note_runs(Found& found, UtcTime now, BootTime boot) {
  // The machine slept, or the database was away: what did not arrive meanwhile tells nothing.
  const bool blind = boot - looked_ > kBlind;
  std::map<std::int64_t, Seen> seen;
  for (const Candidate& run : found.runs) {
    const Seen::State state{run.frames, run.status, run.ended};
    const auto before = seen_.find(run.key);
    Seen one = before == seen_.end() ? Seen{.state = state, .since = boot, .steps_since = boot}
                                     : std::move(before->second);
    if (one.state != state || blind) one.since = boot;
    if (one.state != state) one.done = false;
    if (blind) one.steps_since = boot;
    one.state = state;
    if (run.status == store::RunStatus::kRunning) one.ran = now;
    seen.emplace(run.key, std::move(one));
  }
  seen_ = std::move(seen);
  std::set<std::int64_t> known;
  for (const Rule& rule : found.rules) {
    known.insert(rule.alert.id);
    if (complete_ && known_alerts_.contains(rule.alert.id)) continue;
    for (const Candidate& run : found.runs) {
      Seen& one = seen_.at(run.key);
      if (!is_for(rule, run, one)) continue;
      one.done = false;
      one.read.reset();
    }
  }
  known_alerts_ = std::move(known);
  std::erase_if(found.runs, [&](const Candidate& run) { return seen_.at(run.key).done; });
}

// An end before the alert was made is no news, by the clocks of the run's host and of the server,
// unless the run was seen to run since.
bool Alerts::is_for(const Rule& rule, const Candidate& run, const Seen& seen) {
  const Alert& alert = rule.alert;
  if (!alert.experiment.empty() && alert.experiment != run.experiment) return false;
  if (run.ended && *run.ended < alert.created && !(seen.ran && *seen.ran >= alert.created))
    return false;
  return rule.sees.hidden_space_of(run.experiment).empty();
}

bool Alerts::wants_metrics(const Rule& rule, const Candidate& run, const Seen& seen) const {
  return is_for(rule, run, seen) && std::ranges::any_of(rule.alert.kinds, [&](Kind kind) {
           const bool of_metrics =
               kind == Kind::kNan || kind == Kind::kLimit || kind == Kind::kStalled;
           return of_metrics && !told_->contains({rule.alert.id, run.key, kind});
         });
}

Result<Alerts::Metrics> Alerts::read_metrics(const Found& found, BootTime boot) {
  std::vector<std::pair<Seen*, const Candidate*>> wanted;
  for (const Candidate& run : found.runs) {
    Seen& seen = seen_.at(run.key);
    if (seen.read == run.frames) continue;
    const auto wants = [&](const Rule& rule) { return wants_metrics(rule, run, seen); };
    if (std::ranges::any_of(found.rules, wants)) {
      wanted.emplace_back(&seen, &run);
    } else {
      seen.read = run.frames;
      seen.steps = {};
      seen.steps_since = boot;
    }
  }
  std::ranges::stable_sort(wanted, {}, [](const auto& one) { return one.first->read_at; });
  if (wanted.size() > kMostRead) wanted.resize(kMostRead);
  Metrics metrics;
  std::size_t count = 0;
  for (const auto& [seen, run] : wanted) {
    if (count > kMostSeries) break;
    const std::array only{run->id};
    auto& own = metrics[run->id];
    for (auto& [id, series] : TRY(reader_.series_ending(only, "")))
      own.push_back(std::move(series));
    count += own.size();
    seen->read = run->frames;
    seen->read_at = boot;
    Steps steps = steps_of(own);
    if (steps != seen->steps) seen->steps_since = boot;
    seen->steps = std::move(steps);
  }
  return metrics;
}

Alerts::Steps Alerts::steps_of(const std::vector<store::Series>& metrics) {
  Steps steps;
  std::int64_t most = 0;
  for (const store::Series& series : metrics) {
    if (!series.last_step) continue;
    steps.last = std::max(steps.last, series.last_time);
    steps.points += series.points;
    if (series.points <= most) continue;
    most = series.points;
    steps.metric = where_of(series);
    if (most >= kIntervalPoints)
      steps.interval = std::max(Nanos(1), (series.last_time - series.first) / (most - 1));
  }
  return steps;
}

namespace {

using Judged = std::optional<std::pair<std::string, std::string>>;

Judged judge_nan(const alerts::Alert& alert, const std::vector<store::Series>& metrics) {
  for (const store::Series& series : metrics) {
    if (series.nan == 0 || !is_at(alert, series)) continue;
    return {{fmt::format("{} is NaN or infinite", where_of(series)),
             fmt::format("{} of its {}, {}", series.nan, counted(series.points, "point"),
                         series.ends_nan ? "the newest among them" : "but not the newest")}};
  }
  return {};
}

Judged judge_limit(const alerts::Alert& alert, const std::vector<store::Series>& metrics) {
  for (const store::Series& series : metrics) {
    if (!is_at(alert, series)) continue;
    if (alert.above && series.max && *series.max > *alert.above)
      return {{fmt::format("{} was above {}", where_of(series), *alert.above),
               fmt::format("its greatest value is {}", *series.max)}};
    if (alert.below && series.min && *series.min < *alert.below)
      return {{fmt::format("{} was below {}", where_of(series), *alert.below),
               fmt::format("its least value is {}", *series.min)}};
  }
  return {};
}

}  // namespace

std::optional<Alerts::Text> Alerts::judge(Kind kind, const Rule& rule, const Candidate& run,
                                          const Metrics& metrics, BootTime boot) const {
  const bool running = run.status == store::RunStatus::kRunning;
  const bool failed =
      run.status == store::RunStatus::kFailed || run.status == store::RunStatus::kUnknown;
  const Seen& seen = seen_.at(run.key);
  const auto read = metrics.find(run.id);
  Judged judged;
  switch (kind) {
    case Kind::kEnded:
    case Kind::kFailed:
      if (kind == Kind::kEnded ? !running : failed)
        judged = {std::string(store::status_name(run.status)), how_it_ended(run)};
      break;
    case Kind::kSilent: {
      const Nanos silence = boot - seen.since;
      if (running && run.supervised && silence > kSilence)
        judged = {"silent", fmt::format("nothing came from it for {}; its newest data are of {}",
                                        human_duration(silence), iso_utc(run.newest))};
      break;
    }
    case Kind::kNan:
      if (read != metrics.end()) judged = judge_nan(rule.alert, read->second);
      break;
    case Kind::kLimit:
      if (read != metrics.end()) judged = judge_limit(rule.alert, read->second);
      break;
    case Kind::kStalled: {
      const Steps& steps = seen.steps;
      const Nanos pause = boot - seen.steps_since;
      const Nanos limit = std::max(kLeastStall, steps.interval * kStalledIntervals);
      // Nobody knows about one that was not read for a while.
      if (running && seen.read == run.frames && steps.interval > Nanos(0) && pause > limit)
        judged = {"no new points",
                  fmt::format("none for {}; before, {} had one each {}", human_duration(pause),
                              steps.metric, human_duration(steps.interval))};
      break;
    }
  }
  if (!judged) return std::nullopt;
  return Text{.what = std::move(judged->first), .detail = std::move(judged->second)};
}

std::string Alerts::document(const News& news, const Candidate& run, const Text& text,
                             UtcTime now) const {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("id", RunId::random().hex())
      .member("kind", alerts::kKindNames.at(static_cast<std::size_t>(news.kind)));
  json.member("alert", std::to_string(news.alert)).member("time", iso_utc(now));
  json.member("title", fmt::format("{}: {}", short_name(run.name), printable(text.what)));
  json.member("text", fmt::format("{} (experiment {})", printable(text.detail),
                                  short_name(run.experiment)));
  json.member("url", fmt::format("{}/runs/{}", options_.url, run.id.hex()));
  json.key("run").begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("experiment", run.experiment).member("status", store::status_name(run.status));
  json.end_object().end_object();
  return body;
}

Result<bool> Alerts::any_waits(UtcTime now) const {
  return in_snapshot(reader_,
                     [&](store::Reading& reading) { return alerts::any_waits(reading, now); });
}

Result<bool> Alerts::send_next(UtcTime now) {
  const BootTime began = sys::boot_now();
  const auto is_due = [&](store::Reading& reading) { return alerts::is_due(reading, now); };
  if (!TRY(in_snapshot(reader_, is_due))) return false;
  std::optional<alerts::Message> message;
  const auto claim = [&](store::Writing& writing) -> Result<> {
    message = TRY(alerts::claim(writing, now));
    return {};
  };
  TRY(store_.change(claim));
  // Another server was faster, or there were only old ones: perhaps the next alert's is due.
  if (!message) return true;
  const bool seen = is_seen(*message);
  const Result<> sent = seen ? send(message->alert, message->body, now) : Result<>();
  const Nanos pause =
      std::min(kLongestPause,
               kFirstPause * (1 << std::min<std::int64_t>(message->failures, kMostDoublings)));
  const UtcTime ended = now + (sys::boot_now() - began);
  const auto note = [&](store::Writing& writing) {
    if (!seen) return alerts::note_hidden(writing, *message, ended);
    if (!sent && leaving_) return alerts::release(writing, *message, ended);
    return sent ? alerts::note_sent(writing, *message, ended)
                : alerts::note_failed(writing, *message, sent.error().message, ended + pause);
  };
  TRY(store_.change(note));
  return true;
}

bool Alerts::is_seen(const alerts::Message& message) const {
  if (!accounts_.required()) return true;
  const auto news = Json::parse(message.body);
  const Json* run = news ? news->find("run") : nullptr;
  if (run == nullptr) return false;
  const store::Access sees = accounts_.access_of(message.alert.user);
  return sees.hidden_space_of(run->get_string("experiment")).empty();
}

std::shared_ptr<const void> Alerts::take_test_turn() const {
  if (testing_.exchange(true)) return nullptr;
  return {this, [this](const void*) { testing_ = false; }};
}

Result<> Alerts::send_test(const Alert& alert, UtcTime now) const {
  Json news(Json::Object{{"id", RunId::random().hex()},
                         {"kind", "test"},
                         {"alert", std::to_string(alert.id)},
                         {"time", iso_utc(now)},
                         {"title", "Corral: a test"},
                         {"text", "messages of this alert arrive here"},
                         {"url", options_.url}});
  return send(alert, news.dump(), now);
}

Result<> Alerts::send(const Alert& alert, const std::string& body, UtcTime now) const {
  // The server may have been started with other options since.
  TRY(check_target(alert.form, alert.target));
  const Json news = TRY(Json::parse(body));
  if (alert.form == alerts::Form::kMail)
    return sys::send_mail(
        options_.mail,
        {.id = news.get_string("id"),
         .to = alert.target,
         .subject = news.get_string("title"),
         .text = news.get_string("text") + "\n\n" + news.get_string("url") + "\n"},
        leaving_);
  sys::OutgoingPost post{.url = alert.target};
  std::string form = body;
  if (alert.form == alerts::Form::kSlack) form = slack_message(news);
  if (alert.form == alerts::Form::kNtfy) {
    auto [server, topic] = ntfy_parts(alert.target);
    post.url = std::move(server);
    form = ntfy_message(news, topic);
  }
  if (alert.form == alerts::Form::kWebhook && !alert.secret.empty()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
    const std::string signed_text = fmt::format("{}.{}", seconds.count(), body);
    post.headers.emplace_back(
        "Corral-Signature",
        fmt::format("t={},v1={}", seconds.count(), hex(hmac_sha256(alert.secret, signed_text))));
  }
  post.body = form;
  const auto may = [this](const std::string& ip, bool tls) { return may_send_to(ip, tls); };
  return sys::send_post(post, may, leaving_);
}

bool Alerts::may_send_to(const std::string& ip, bool tls) const {
  if (http::any_contains(options_.networks, ip)) return true;
  return tls && !http::any_contains(private_networks(), ip);
}

Result<> Alerts::check_target(alerts::Form form, std::string_view target) const {
  constexpr std::size_t kMost = 2000;
  if (form == alerts::Form::kMail) {
    if (options_.mail.url.empty())
      return fail(Code::kInvalidArgument,
                  "this server sends no mail (corral serve --mail-server): give an HTTP address");
    if (!sys::is_mail_address(target))
      return fail(Code::kInvalidArgument, "expected a mail address, as ada@lab.org");
    const std::string domain = lower_ascii(target.substr(target.find('@') + 1));
    if (std::ranges::find(options_.mail_domains, domain) != options_.mail_domains.end()) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("this server sends mail to {} only (corral serve --mail-domain)",
                            join(options_.mail_domains, ", ")));
  }
  const std::size_t scheme = target.starts_with("https://")  ? 8
                             : target.starts_with("http://") ? 7
                                                             : 0;
  const std::string_view rest = target.substr(scheme);
  const bool plain = std::ranges::all_of(target, [](char c) { return c > ' ' && c < '\x7f'; });
  const std::size_t slash = rest.find('/');
  if (scheme == 0 || rest.empty() || slash == 0 || !plain || target.size() > kMost ||
      rest.substr(0, slash).find('@') != std::string_view::npos)
    return fail(Code::kInvalidArgument,
                "expected an address as https://host/path, without user and password");
  if (form == alerts::Form::kNtfy &&
      (slash == std::string_view::npos || rest.find_last_not_of('/') <= slash))
    return fail(Code::kInvalidArgument,
                "expected the address of a topic, as https://ntfy.sh/topic");
  return {};
}

}  // namespace corral::server
