// Provider: where the users of a store sign in, by OpenID Connect (authorization code flow with
// PKCE, RFC 7636).
//
// One browser's sign-in is an Attempt. The browser keeps it in a cookie and goes to
// authorize_url(); it comes back with a code, which redeem() exchanges for who that is. The
// provider's addresses are read from its discovery document (OpenID Connect Discovery 1.0) at the
// first sign-in, and again after an hour; its keys when a token names one that is not known, at
// most once a minute. Everything is over HTTPS, but to a provider on this machine. Functions that
// ask the provider wait for it, at most kPatience a request. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"
#include "oidc/id_token.h"
#include "sys/http_client.h"

namespace corral::oidc {

// Three random texts of one sign-in: the provider gives back the first, signs the second, and
// checks that who redeems the code knows the third.
struct Attempt {
  std::string state;
  std::string nonce;
  std::string verifier;

  static Attempt make();
  // As one text of letters, digits, '-', '_' and '.'.
  [[nodiscard]] std::string text() const;
  static std::optional<Attempt> parse(std::string_view text);
};

class Provider {
 public:
  static constexpr Nanos kPatience = std::chrono::seconds(5);

  struct Options {
    std::string issuer{};           // "https://id.lab/realms/x"
    std::string client{};           // as the provider knows this server
    std::string secret{};           // empty: a public client
    std::string ca_file{};          // as HttpTarget has it
    std::string groups = "groups";  // as Expected has it
  };
  // Makes no request. kInvalidArgument: the issuer is not an HTTPS address.
  static Result<std::unique_ptr<Provider>> make(Options options);
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  [[nodiscard]] const std::string& issuer() const { return options_.issuer; }
  // The host of the issuer, which people know it by.
  [[nodiscard]] std::string host() const;

  // The address at which the browser signs in, to return to `redirect`.
  Result<std::string> authorize_url(const Attempt& attempt, std::string_view redirect);
  // The person who has signed in. kUnauthenticated: the provider does not take the code, or its
  // answer does not count.
  Result<Claims> redeem(std::string_view code, const Attempt& attempt, std::string_view redirect);

 private:
  // The discovery document.
  struct Document {
    std::string authorization;
    std::string token;
    std::string keys;
    std::string user_info;  // empty: it has none
    bool secret_in_body = false;
  };
  explicit Provider(Options options) : options_(std::move(options)) {}
  Result<std::string> ask(const std::string& url, const sys::HttpRequest& request) const;
  Result<Document> read_document() const;
  Result<Document> document();
  Result<Keys> read_keys(const Document& where) const;
  // The claims of a token, whose signature is verified, by new keys if need be.
  Result<std::string> verified(std::string_view token, const Document& where);
  // The provider's answer to the code, which has the tokens.
  Result<std::string> exchange(std::string_view code, const Attempt& attempt,
                               std::string_view redirect, const Document& where) const;

  // Constant after construction.
  const Options options_;

  // Held while the provider is asked, so that it is asked once.
  Mutex mutex_;
  std::optional<Document> document_ GUARDED_BY(mutex_);
  BootTime document_until_ GUARDED_BY(mutex_){};
  std::optional<Error> unreachable_ GUARDED_BY(mutex_);  // from the last try
  std::optional<Keys> keys_ GUARDED_BY(mutex_);
  BootTime keys_until_ GUARDED_BY(mutex_){};
  BootTime keys_stay_ GUARDED_BY(mutex_){};  // before, no others are read for a token
};

}  // namespace corral::oidc
