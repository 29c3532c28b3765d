// Alerts: what people want to be told about runs, what they were told, and the messages that wait
// to be sent. Rows of `alerts`, `alert_states` and `alert_outbox`.
//
// An alert tells a kind of news about a run once. That it did, and the message, are written in one
// transaction, so that a crash or a second server loses no message and makes none twice. A server
// claims an alert for a while before it sends one of its messages: if it dies, another one sends
// it, perhaps again. One alert of a user is claimed at a time, so that a slow address holds
// up nobody else. Free functions over the caller's snapshot or transaction.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::alerts {

inline constexpr std::int64_t kMostOfUser = 100;
// News older than that is not told any more, and a message that waited so long is given up.
inline constexpr Nanos kCounts = std::chrono::hours(24);
// The time for which a claimed alert is its server's.
inline constexpr Nanos kClaimed = std::chrono::minutes(2);
// Messages of one alert; others are left out.
inline constexpr std::int64_t kMostWaiting = 1000;

enum class Kind : std::uint8_t {
  kEnded = 0,    // the run ended, in whatever way
  kFailed = 1,   // it failed, or nobody knows how it ended
  kNan = 2,      // a metric is NaN or infinite
  kStalled = 3,  // metrics get no new points any more
  kLimit = 4,    // a metric was above or below a limit
  kSilent = 5    // nothing comes from a run that has not ended
};
inline constexpr std::array<std::string_view, 6> kKindNames = {"ended",   "failed", "nan",
                                                               "stalled", "limit",  "silent"};

// The form that its target takes: a JSON document, messages of Slack, of ntfy, or mail.
enum class Form : std::uint8_t { kWebhook = 0, kSlack = 1, kNtfy = 2, kMail = 3 };
inline constexpr std::array<std::string_view, 4> kFormNames = {"webhook", "slack", "ntfy", "mail"};

struct Alert {
  std::int64_t id = 0;
  std::string user{};  // it tells them; empty: the store had no users when it was made
  std::set<Kind> kinds{};
  std::string experiment{};                // its runs alone; empty: all
  std::string metric{};                    // for kNan and kLimit; empty: kNan for all metrics
  std::optional<double> above{}, below{};  // for kLimit
  Form form = Form::kWebhook;
  std::string target{};  // an HTTP or a mail address; may be a secret
  std::string secret{};  // signs the documents of a webhook; empty: they are not signed
  UtcTime created{};
  std::optional<UtcTime> delivered{};  // the last message that arrived
  std::string problem{};               // why the last one did not; empty: it did
  std::int64_t waiting = 0;            // messages
  std::int64_t left_out = 0;           // messages beyond kMostWaiting, so far

  bool operator==(const Alert&) const = default;
};

// `id`, and what became of its messages, do not count. Returns the id. kNotFound: there is no
// such user. kTooLarge: they have kMostOfUser.
Result<std::int64_t> add(Writing& writing, const Alert& alert);
// All, by id.
Result<std::vector<Alert>> list(Reading& reading);
// Those of users who are not disabled, by id; without `waiting`.
Result<std::vector<Alert>> active(Reading& reading);
// With its messages that wait. False: there is none, or it is not that user's.
Result<bool> remove(Writing& writing, std::int64_t id, const std::optional<std::string>& user);
// Those of a user's row.
Result<> remove_all_of(Writing& writing, std::int64_t user);

// ---- what is told
// A run that ended, or of which data came, at most kCounts ago, and is not archived or in the
// trash.
struct Candidate {
  std::int64_t key = 0;
  RunId id{};
  std::string name, experiment;
  RunStatus status = RunStatus::kRunning;
  bool supervised = false;
  UtcTime newest{};
  std::optional<UtcTime> ended{};  // if it ended at an unknown time: `newest`
  std::optional<std::int64_t> exit_code{}, exit_signal{};
  std::int64_t frames = 0;  // numbers of its sessions that are stored: grows with whatever comes
};
Result<std::vector<Candidate>> candidates(Reading& reading, UtcTime now);

struct News {
  std::int64_t alert = 0;
  std::int64_t run = 0;  // its key
  Kind kind = Kind::kEnded;

  auto operator<=>(const News&) const = default;
};
Result<std::set<News>> told(Reading& reading);
// Keeps the message for sending, unless this was told already or the alert is gone.
Result<> tell(Writing& writing, const News& news, const std::string& body, UtcTime now);
// Forgets what was told about runs that are no candidates any more.
Result<> forget(Writing& writing, UtcTime now);

// ---- what is sent
struct Message {
  std::int64_t id = 0;
  Alert alert{};  // without `waiting`
  std::string body{};
  std::int64_t claim = 0;     // the alert's number of claims
  std::int64_t failures = 0;  // the alert's, since a message arrived
};
Result<bool> is_due(Reading& reading, UtcTime now);
// Some message waits that is not to be given up.
Result<bool> any_waits(Reading& reading, UtcTime now);
// A message of the alert that waits for longest, of those tried least, which is claimed for
// kClaimed. Messages older than kCounts are given up. Nothing: none is due.
Result<std::optional<Message>> claim(Writing& writing, UtcTime now);
// The next message is due at once. Does nothing if another server has claimed the alert since.
Result<> note_sent(Writing& writing, const Message& message, UtcTime now);
// The next one is due at `again`. Likewise.
Result<> note_failed(Writing& writing, const Message& message, const std::string& problem,
                     UtcTime again);
// It goes on to wait, and is due at once. Likewise.
Result<> release(Writing& writing, const Message& message, UtcTime now);
// It is not sent: its user does not see the run any more. Likewise.
Result<> note_hidden(Writing& writing, const Message& message, UtcTime now);

}  // namespace corral::store::alerts
