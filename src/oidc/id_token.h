// ID tokens: what a provider of OpenID Connect says, signed, about who has signed in.
//
// A token is a JWS (RFC 7515) of RS256, PS256 or ES256, the others are refused. Its claims are
// those of OpenID Connect Core 1.0, checked as its section 3.1.3.7 says. Signatures are OpenSSL's
// business. Pure functions, any thread (fuzz/fuzz_id_token.cpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace corral::oidc {

// The keys of a provider that verify signatures: RSA of 2,048 bits or more, and EC of P-256.
class Keys {
 public:
  // A JWK Set (RFC 7517). Keys of other kinds and uses are left out. kInvalidArgument: it is none.
  static Result<Keys> parse(std::string_view json);

 private:
  friend Result<std::string> verify_signature(std::string_view token, const Keys& keys);
  struct Key {
    std::string id;
    std::string algorithm;  // empty: any for its kind
    bool rsa = false;       // else EC
    std::shared_ptr<evp_pkey_st> key;
  };
  std::vector<Key> keys_;
};

// The claims that a token must have to count.
struct Expected {
  std::string issuer;
  std::string client;
  std::string nonce;
  std::string groups = "groups";  // name of the claim with a person's groups
};

// The person who signed in. All but `subject` may be empty.
struct Claims {
  std::string subject;   // the provider's own name of a person, which it gives to nobody else
  std::string username;  // "preferred_username"
  std::string name;
  std::string email;  // one that the provider has verified
  std::vector<std::string> groups{};
};

// The claims of a token, as JSON, if a key has signed it. kUnauthenticated: none has.
// kInvalidArgument: it is no token.
Result<std::string> verify_signature(std::string_view token, const Keys& keys);
// kUnauthenticated, with the claim: it is for somebody else, or does not count at this time.
Result<Claims> check_claims(std::string_view json, const Expected& expected, UtcTime now);
// Adds what the token left out and the provider's answer to a question for the user has (OpenID
// Connect Core 1.0, 5.3). kUnauthenticated: that is about somebody else.
Result<> add_user_info(Claims& who, std::string_view json, std::string_view groups);

}  // namespace corral::oidc
