#include "sys/outgoing.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "core/base64.h"
#include "core/text.h"
#include "sys/certificates.h"
#include "sys/clock.h"

namespace corral::sys {
namespace {

constexpr std::size_t kMostAddress = 254;
constexpr std::size_t kLine = 76;  // characters of base64 in a mail

struct EndEasy {
  void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EndEasy>;
struct EndList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, EndList>;

void add_line(List& list, const std::string& line) {
  list.reset(::curl_slist_append(list.release(), line.c_str()));
}

std::size_t ignore(char*, std::size_t size, std::size_t n, void*) { return size * n; }

int look_at(void* cancel, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const Cancel*>(cancel)->load() ? 1 : 0;
}

Easy new_easy(const Cancel& cancel) {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
  Easy easy(::curl_easy_init());
  CORRAL_ASSERT(easy != nullptr);
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kOutgoingPatience);
  ::curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  ::curl_easy_setopt(easy.get(), CURLOPT_QUICK_EXIT, 1L);  // not after a name server's patience
  ::curl_easy_setopt(easy.get(), CURLOPT_NOPROGRESS, 0L);
  ::curl_easy_setopt(easy.get(), CURLOPT_XFERINFOFUNCTION, look_at);
  ::curl_easy_setopt(easy.get(), CURLOPT_XFERINFODATA, &cancel);
  ::curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
  ::curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, 5000L);
  if (!certificate_file().empty())
    ::curl_easy_setopt(easy.get(), CURLOPT_CAINFO, certificate_file().c_str());
  return easy;
}

// Asked while a transfer runs.
struct Door {
  const MayConnect& may_connect;
  bool tls = false;
  std::string refused{};  // the last address that was
  bool opened = false;    // another one was not

  static curl_socket_t open(void* door, curlsocktype, curl_sockaddr* address) {
    auto& self = *static_cast<Door*>(door);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (address->family == AF_INET)
      bytes = &reinterpret_cast<const sockaddr_in*>(&address->addr)->sin_addr;
    if (address->family == AF_INET6)
      bytes = &reinterpret_cast<const sockaddr_in6*>(&address->addr)->sin6_addr;
    if (bytes == nullptr ||
        ::inet_ntop(address->family, bytes, text.data(), text.size()) == nullptr)
      return CURL_SOCKET_BAD;
    if (!self.may_connect(text.data(), self.tls)) {
      self.refused = text.data();
      return CURL_SOCKET_BAD;
    }
    self.opened = true;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
};

// The part of a mail that was not sent yet.
std::size_t give(char* to, std::size_t size, std::size_t n, void* rest) {
  auto& text = *static_cast<std::string_view*>(rest);
  const std::size_t bytes = text.copy(to, size * n);
  text.remove_prefix(bytes);
  return bytes;
}

// RFC 2047; a word has at most 75 characters.
std::string encoded_header(std::string_view text) {
  constexpr std::size_t kWord = 45;  // bytes
  std::string out;
  while (!text.empty()) {
    std::string_view word = text.substr(0, kWord);
    word.remove_suffix(word.size() < text.size() ? incomplete_utf8_tail(word) : 0);
    out += fmt::format("{}=?UTF-8?B?{}?=", out.empty() ? "" : "\r\n ", base64(word));
    text.remove_prefix(word.size());
  }
  return out;
}

std::string mail_document(const MailServer& server, const Mail& mail) {
  std::array<char, 64> date{};
  const std::time_t now = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(utc_now()));
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S +0000", &parts);
  std::string out = fmt::format(
      "Date: {}\r\nFrom: {}\r\nTo: {}\r\nMessage-ID: <{}@corral>\r\nSubject: {}\r\n"
      "Auto-Submitted: auto-generated\r\n"
      "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Transfer-Encoding: base64\r\n\r\n",
      date.data(), server.from, mail.to, mail.id, encoded_header(to_utf8(mail.subject)));
  const std::string body = base64(to_utf8(mail.text));
  for (std::size_t at = 0; at < body.size(); at += kLine) out += body.substr(at, kLine) + "\r\n";
  return out;
}

}  // namespace

Result<> send_post(const OutgoingPost& post, const MayConnect& may_connect, const Cancel& cancel) {
  const Easy easy = new_easy(cancel);
  Door door{.may_connect = may_connect, .tls = post.url.starts_with("https:")};
  List headers;
  add_line(headers, "Expect:");
  add_line(headers, "Content-Type: " + post.content_type);
  for (const auto& [name, value] : post.headers)
    add_line(headers, fmt::format("{}: {}", name, value));
  ::curl_easy_setopt(easy.get(), CURLOPT_URL, post.url.c_str());
  ::curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "corral");
  ::curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(easy.get(), CURLOPT_POST, 1L);
  ::curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, post.body.data());
  ::curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(post.body.size()));
  ::curl_easy_setopt(easy.get(), CURLOPT_OPENSOCKETFUNCTION, &Door::open);
  ::curl_easy_setopt(easy.get(), CURLOPT_OPENSOCKETDATA, &door);
  ::curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, ignore);
  const CURLcode code = ::curl_easy_perform(easy.get());
  if (code != CURLE_OK && !door.refused.empty() && !door.opened)
    return fail(Code::kPermission,
                fmt::format("messages do not go to {}{}: `corral serve --alert-network` allows it",
                            door.refused, door.tls ? "" : " without TLS"));
  if (code != CURLE_OK) return fail(Code::kUnavailable, ::curl_easy_strerror(code));
  long status = 0;
  ::curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  return fail(Code::kUnavailable, fmt::format("it answered {}", status));
}

Result<> send_mail(const MailServer& server, const Mail& mail, const Cancel& cancel) {
  const Easy easy = new_easy(cancel);
  const std::string document = mail_document(server, mail);
  std::string_view rest = document;
  List to;
  add_line(to, "<" + mail.to + ">");
  const std::string from = "<" + server.from + ">";
  ::curl_easy_setopt(easy.get(), CURLOPT_URL, server.url.c_str());
  ::curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  if (!server.user.empty()) {
    ::curl_easy_setopt(easy.get(), CURLOPT_USERNAME, server.user.c_str());
    ::curl_easy_setopt(easy.get(), CURLOPT_PASSWORD, server.password.c_str());
  }
  ::curl_easy_setopt(easy.get(), CURLOPT_USE_SSL,
                     static_cast<long>(server.user.empty() ? CURLUSESSL_TRY : CURLUSESSL_ALL));
  ::curl_easy_setopt(easy.get(), CURLOPT_MAIL_FROM, from.c_str());
  ::curl_easy_setopt(easy.get(), CURLOPT_MAIL_RCPT, to.get());
  ::curl_easy_setopt(easy.get(), CURLOPT_UPLOAD, 1L);
  ::curl_easy_setopt(easy.get(), CURLOPT_READFUNCTION, &give);
  ::curl_easy_setopt(easy.get(), CURLOPT_READDATA, &rest);
  const CURLcode code = ::curl_easy_perform(easy.get());
  if (code == CURLE_OK) return {};
  long status = 0;
  ::curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return fail(Code::kUnavailable,
              fmt::format("the mail server {}: {}{}", server.url, ::curl_easy_strerror(code),
                          status != 0 ? fmt::format(" (it answered {})", status) : ""));
}

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("#$&'*+-=?^_`{}~.@").find(c) != std::string_view::npos;
  };
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
         text.size() <= kMostAddress && text.find('@') == at && text.front() != '-' &&
         std::ranges::all_of(text, plain);
}

}  // namespace corral::sys
