// Outgoing messages: to an address that some user named, by HTTP, or to a mail server, by SMTP.
//
// The user must not reach through this server what they could not reach themselves: each IP address
// is asked about before it is connected to, redirections are not followed, no proxy of the
// environment is used, and nothing of the answer is kept but its status. Any thread. Blocks at most
// kOutgoingPatience; ends within about a second once `cancel` is true.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"
#include "sys/http_client.h"

namespace corral::sys {

inline constexpr Nanos kOutgoingPatience = std::chrono::seconds(10);
using Cancel = std::atomic<bool>;

// May `ip` be connected to, by TLS or not?
using MayConnect = std::function<bool(const std::string& ip, bool tls)>;

struct OutgoingPost {
  std::string url{};  // http or https
  std::string content_type = "application/json";
  std::string_view body{};
  HttpFields headers{};
};
// Any 2xx is success. kPermission: `may_connect` allows none of its addresses. kUnavailable: no
// answer, or another status. Errors do not tell the URL.
Result<> send_post(const OutgoingPost& post, const MayConnect& may_connect, const Cancel& cancel);

struct MailServer {
  std::string url{};       // "smtp://mail.lab.org:587" or "smtps://..."; empty: there is none
  std::string user{};      // empty: without signing in
  std::string password{};  // sent by TLS alone
  std::string from{};      // "corral@lab.org"
};
struct Mail {
  std::string id{};       // the same for a mail that is sent again
  std::string to{};       // "ada@lab.org"
  std::string subject{};  // one line
  std::string text{};
};
// kUnavailable: the server is not there, or does not take it.
Result<> send_mail(const MailServer& server, const Mail& mail, const Cancel& cancel);

// One address without name, quotes and spaces, and none that a mail server would send on (a%b@c):
// nothing in it can end a line or an argument.
bool is_mail_address(std::string_view text);

}  // namespace corral::sys
