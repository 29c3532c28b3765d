// Alerts: tells people what they want to know about runs: that one ended or failed, that a metric
// is NaN, passed a limit or stalled, or that a run is silent (store/tables/alerts.h).
//
//   look()       what is new of the runs becomes messages of the store, each kind once per run
//   send_next()  one message goes out; after a failure it is tried again, later and later
//
// Each server of a store does both: a kind is told by one of them, and a message sent by who claims
// its alert. Messages go to public addresses by HTTPS, and to no other but those of
// Options::networks, so that nobody reaches a lab's private services through its server. look() is
// called by one thread, the others from any.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "http/network.h"
#include "server/core/accounts.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/tables/alerts.h"
#include "sys/outgoing.h"

namespace corral::server {

class Alerts {
 public:
  // A stalled run gets no new point for this number of its mean intervals between points, and for
  // kLeastStall.
  static constexpr int kStalledIntervals = 10;
  static constexpr Nanos kLeastStall = std::chrono::minutes(1);
  static constexpr std::int64_t kIntervalPoints = 10;  // with fewer, no interval is known
  // Supervisors send something every few seconds.
  static constexpr Nanos kSilence = std::chrono::minutes(5);
  // After such a pause between two looks nobody knows what was silent.
  static constexpr Nanos kBlind = std::chrono::minutes(1);
  // The metrics of so many runs are read in one look(), those not read for longest first, and fewer
  // if they have more than so many series.
  static constexpr std::size_t kMostRead = 200;
  static constexpr std::size_t kMostSeries = 20'000;
  // A look() tells so much; the next one finds the rest.
  static constexpr std::size_t kMostNews = 1000;

  struct Options {
    std::string url{};                      // the server's, for links in messages
    std::vector<http::Network> networks{};  // not public, or without TLS, and allowed
    sys::MailServer mail{};
    std::vector<std::string> mail_domains{};  // mail goes there alone
  };
  // `reader` sees everything; messages tell each user only about runs that they may see.
  Alerts(store::Store& store, store::Reader reader, const Accounts& accounts, Options options)
      : store_(store),
        reader_(std::move(reader)),
        accounts_(accounts),
        options_(std::move(options)) {}

  Result<> look(UtcTime now, BootTime boot);
  // False: no message is due.
  Result<bool> send_next(UtcTime now);
  // The right to send one test; null: another one is being sent.
  [[nodiscard]] std::shared_ptr<const void> take_test_turn() const;
  // A message that says that it is a test. Errors as of sys::send_post() and sys::send_mail().
  [[nodiscard]] Result<> send_test(const store::alerts::Alert& alert, UtcTime now) const;
  // Some message has not been sent, and will be tried.
  [[nodiscard]] Result<bool> any_waits(UtcTime now) const;
  // A message that is being sent goes on to wait, soon.
  void leave() { leaving_ = true; }
  // kInvalidArgument: no message of that form can go there.
  [[nodiscard]] Result<> check_target(store::alerts::Form form, std::string_view target) const;
  // The address is as inet_ntop() writes it.
  [[nodiscard]] bool may_send_to(const std::string& ip, bool tls) const;

 private:
  using Alert = store::alerts::Alert;
  using Candidate = store::alerts::Candidate;
  using Kind = store::alerts::Kind;
  using News = store::alerts::News;
  struct Rule {
    Alert alert;
    store::Access sees;  // as its user does
  };
  struct Found {
    std::vector<Rule> rules;
    std::vector<Candidate> runs;  // on which something may be new
  };
  // The metrics of a run that have steps, together.
  struct Steps {
    UtcTime last{};
    std::int64_t points = 0;
    // The one with most points, and its mean interval.
    std::string metric{};
    Nanos interval{};  // 0: not known

    bool operator==(const Steps&) const = default;
  };
  // A run as earlier looks saw it.
  struct Seen {
    using State = std::tuple<std::int64_t, store::RunStatus, std::optional<UtcTime>>;
    State state{};                       // its frames, status and end
    BootTime since{};                    // when that was new
    std::optional<UtcTime> ran{};        // the last look that saw it run
    std::optional<std::int64_t> read{};  // its frames when its metrics were read
    BootTime read_at{};
    Steps steps{};
    BootTime steps_since{};
    bool done = false;  // it has ended, and nothing is left to tell
  };
  using Metrics = std::map<RunId, std::vector<store::Series>>;
  struct Text {
    std::string what, detail;
  };
  Result<> tell(const std::map<News, std::string>& news, UtcTime now);
  Result<Found> find(UtcTime now);
  // Leaves those runs in it that are not done.
  void note_runs(Found& found, UtcTime now, BootTime boot);
  [[nodiscard]] static bool is_for(const Rule& rule, const Candidate& run, const Seen& seen);
  [[nodiscard]] bool wants_metrics(const Rule& rule, const Candidate& run, const Seen& seen) const;
  // Own metrics of the runs that some alert must look at.
  Result<Metrics> read_metrics(const Found& found, BootTime boot);
  static Steps steps_of(const std::vector<store::Series>& metrics);
  [[nodiscard]] std::vector<std::pair<News, Text>> news_of(const Rule& rule, const Candidate& run,
                                                           const Metrics& metrics,
                                                           BootTime boot) const;
  [[nodiscard]] std::optional<Text> judge(Kind kind, const Rule& rule, const Candidate& run,
                                          const Metrics& metrics, BootTime boot) const;
  [[nodiscard]] std::string document(const News& news, const Candidate& run, const Text& text,
                                     UtcTime now) const;
  [[nodiscard]] Result<> send(const Alert& alert, const std::string& body, UtcTime now) const;
  // Its user still sees the experiment of the run.
  [[nodiscard]] bool is_seen(const store::alerts::Message& message) const;

  store::Store& store_;
  const store::Reader reader_;
  const Accounts& accounts_;
  const Options options_;
  std::atomic<bool> leaving_ = false;
  mutable std::atomic<bool> testing_ = false;

  // Used by look() alone.
  std::map<std::int64_t, Seen> seen_;    // by a run's key
  std::set<std::int64_t> known_alerts_;  // those that the runs were judged for
  bool complete_ = false;                // they were, by the last look
  std::optional<std::set<News>> told_;
  BootTime looked_{};
  UtcTime forgot_{};
};

}  // namespace corral::server
