#include "oidc/id_token.h"

#include <fmt/core.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/base64.h"
#include "core/json.h"

namespace corral::oidc {
namespace {

constexpr std::size_t kMostBytes = 64u << 10;
constexpr std::size_t kMostKeys = 100;
constexpr std::size_t kMostGroups = 1000;
constexpr std::size_t kMostSubject = 255;  // as OpenID Connect says
constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 16'384;
constexpr std::size_t kP256Bytes = 32;
constexpr double kSkewSeconds = 60;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;
using PublicKey = std::shared_ptr<EVP_PKEY>;

const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

// The bytes of a member in base64; empty: it has none.
std::string bytes_of(const Json& key, std::string_view member) {
  return from_base64(key.get_string(member)).value_or("");
}

PublicKey make_key(const char* kind, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return {key, EVP_PKEY_free};
}

PublicKey rsa_key(const Json& json) {
  const std::string n = bytes_of(json, "n");
  const std::string e = bytes_of(json, "e");
  if (n.empty() || e.empty() || n.size() > kMostRsaBits / 8 || e.size() > sizeof(std::uint64_t))
    return nullptr;
  const Number modulus = number_of(n);
  const Number exponent = number_of(e);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1)
    return nullptr;
  PublicKey key = make_key("RSA", builder.get());
  return key && EVP_PKEY_get_bits(key.get()) >= kLeastRsaBits ? key : nullptr;
}

// OpenSSL refuses a point that is not on the curve.
PublicKey ec_key(const Json& json) {
  const std::string x = bytes_of(json, "x");
  const std::string y = bytes_of(json, "y");
  if (json.get_string("crv") != "P-256" || x.size() != kP256Bytes || y.size() != kP256Bytes)
    return nullptr;
  const std::string point = "\x04" + x + y;
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1)
    return nullptr;
  return make_key("EC", builder.get());
}

// The three parts of a token.
struct Parts {
  std::string_view signed_text;  // header and claims, as they were signed
  Json header;
  std::string claims;
  std::string signature;
};
Result<Parts> parts_of(std::string_view token) {
  const Error none{Code::kInvalidArgument, "the provider's ID token is none"};
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.size() > kMostBytes) return tl::unexpected(none);
  const auto header = from_base64(token.substr(0, first));
  const auto json = header ? Json::parse(*header) : tl::unexpected(none);
  auto claims = from_base64(token.substr(first + 1, second - first - 1));
  auto signature = from_base64(token.substr(second + 1));
  if (!json || json->as_object() == nullptr || !claims || !signature) return tl::unexpected(none);
  return Parts{token.substr(0, second), *json, *std::move(claims), *std::move(signature)};
}

// As OpenSSL takes it: a JWS has the two numbers alone, one after the other.
std::optional<std::string> der_signature(std::string_view raw) {
  if (raw.size() != 2 * kP256Bytes) return std::nullopt;
  const Signature signature(ECDSA_SIG_new());
  Number r = number_of(raw.substr(0, kP256Bytes));
  Number s = number_of(raw.substr(kP256Bytes));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.release(), s.release()) != 1)
    return std::nullopt;
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool has_signed(EVP_PKEY* key, std::string_view algorithm, const Parts& parts) {
  const bool ec = algorithm == "ES256";
  const auto signature = ec ? der_signature(parts.signature) : std::optional(parts.signature);
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;
  if (!signature || !context ||
      EVP_DigestVerifyInit(context.get(), &options, EVP_sha256(), nullptr, key) != 1)
    return false;
  if (algorithm == "PS256" &&
      (EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) != 1))
    return false;
  return EVP_DigestVerify(context.get(), octets(*signature), signature->size(),
                          octets(parts.signed_text), parts.signed_text.size()) == 1;
}

tl::unexpected<Error> refused(std::string why) {
  return fail(Code::kUnauthenticated, "the provider's ID token " + std::move(why));
}

bool is_for(const Json& claims, const std::string& client) {
  const Json* audience = claims.find("aud");
  const Json* party = claims.find("azp");
  if (party != nullptr && claims.get_string("azp") != client) return false;
  if (audience == nullptr) return false;
  if (const std::string* one = audience->as_string()) return *one == client;
  const Json::Array* several = audience->as_array();
  const auto is_client = [&](const Json& name) {
    return name.as_string() != nullptr && *name.as_string() == client;
  };
  return several != nullptr && std::ranges::any_of(*several, is_client) &&
         (several->size() == 1 || party != nullptr);
}

std::vector<std::string> groups_in(const Json& json, std::string_view claim) {
  std::vector<std::string> groups;
  const Json* value = json.find(claim);
  const Json::Array* list = value == nullptr ? nullptr : value->as_array();
  for (std::size_t i = 0; list != nullptr && i < std::min(list->size(), kMostGroups); ++i) {
    const std::string* name = (*list)[i].as_string();
    if (name != nullptr && !name->empty() && name->find('\0') == std::string::npos)
      groups.push_back(*name);
  }
  return groups;
}

Claims claims_in(const Json& json, std::string_view groups) {
  Claims who{.subject = json.get_string("sub"),
             .username = json.get_string("preferred_username"),
             .name = json.get_string("name"),
             .email = {},
             .groups = groups_in(json, groups)};
  if (json.get_bool("email_verified")) who.email = json.get_string("email");
  return who;
}

// The claim's time in seconds of Unix time; NaN: it has none.
double time_of(const Json& claims, std::string_view name) {
  const Json* time = claims.find(name);
  return time == nullptr ? std::numeric_limits<double>::quiet_NaN()
                         : time->as_double(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

Result<Keys> Keys::parse(std::string_view json) {
  const auto set = Json::parse(json);
  const Json* list = set ? set->find("keys") : nullptr;
  if (list == nullptr || list->as_array() == nullptr || list->as_array()->size() > kMostKeys)
    return fail(Code::kInvalidArgument, "the provider's keys are no JWK Set");
  Keys keys;
  for (const Json& key : *list->as_array()) {
    const std::string kind = key.get_string("kty");
    if (key.get_string("use", "sig") != "sig") continue;
    PublicKey made = kind == "RSA" ? rsa_key(key) : kind == "EC" ? ec_key(key) : nullptr;
    if (!made) continue;
    keys.keys_.push_back({.id = key.get_string("kid"),
                          .algorithm = key.get_string("alg"),
                          .rsa = kind == "RSA",
                          .key = std::move(made)});
  }
  return keys;
}

Result<std::string> verify_signature(std::string_view token, const Keys& keys) {
  const Parts parts = TRY(parts_of(token));
  const std::string algorithm = parts.header.get_string("alg");
  constexpr std::array kTaken = {"RS256", "PS256", "ES256"};
  if (std::ranges::find(kTaken, algorithm) == kTaken.end())
    return refused("is not signed by RS256, PS256 or ES256");
  // Extensions that must be understood (RFC 7515, 4.1.11): none is.
  if (parts.header.find("crit") != nullptr) return refused("has critical extensions");
  const std::string id = parts.header.get_string("kid");
  const bool rsa = algorithm != "ES256";
  for (const Keys::Key& key : keys.keys_) {
    const bool named = id.empty() || key.id == id;
    const bool fits = key.rsa == rsa && (key.algorithm.empty() || key.algorithm == algorithm);
    if (named && fits && has_signed(key.key.get(), algorithm, parts)) return parts.claims;
  }
  return refused("is signed by none of the provider's keys");
}

Result<Claims> check_claims(std::string_view json, const Expected& expected, UtcTime now) {
  const auto claims = Json::parse(json);
  if (!claims || claims->as_object() == nullptr) return refused("has no claims");
  const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  if (claims->get_string("iss") != expected.issuer) return refused("is another issuer's (iss)");
  if (!is_for(*claims, expected.client)) return refused("is for another client (aud, azp)");
  if (expected.nonce.empty() || claims->get_string("nonce") != expected.nonce)
    return refused("is for another sign-in (nonce)");
  // Comparisons with NaN are false.
  if (!(time_of(*claims, "exp") > seconds - kSkewSeconds)) return refused("has expired (exp)");
  if (!(time_of(*claims, "iat") < seconds + kSkewSeconds))
    return refused("is from the future (iat): are the clocks right?");
  if (claims->find("nbf") != nullptr && !(time_of(*claims, "nbf") < seconds + kSkewSeconds))
    return refused("does not count yet (nbf)");
  Claims who = claims_in(*claims, expected.groups);
  const bool has_nul = who.subject.find('\0') != std::string::npos;
  if (who.subject.empty() || who.subject.size() > kMostSubject || has_nul)
    return refused("does not say who signed in (sub)");
  return who;
}

Result<> add_user_info(Claims& who, std::string_view json, std::string_view groups) {
  const auto answer = Json::parse(json);
  if (!answer || answer->get_string("sub") != who.subject)
    return fail(Code::kUnauthenticated, "the provider's answer about the user is not about them");
  const Claims more = claims_in(*answer, groups);
  if (who.username.empty()) who.username = more.username;
  if (who.name.empty()) who.name = more.name;
  if (who.email.empty()) who.email = more.email;
  if (who.groups.empty()) who.groups = more.groups;
  return {};
}

}  // namespace corral::oidc
