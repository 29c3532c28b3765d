// Tests which ID tokens count: signed by OpenSSL with keys made here, then changed.
#include "oidc/id_token.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <array>

#include "core/base64.h"
#include "core/json.h"
#include "oidc/provider.h"

namespace corral::oidc {
namespace {

using Free = void (*)(EVP_PKEY*);

// A key pair of a provider.
class Signer {
 public:
  Signer(std::string id, std::string algorithm, int bits = 2048)
      : id_(std::move(id)),
        algorithm_(std::move(algorithm)),
        key_(is_ec() ? EVP_EC_gen("P-256") : EVP_RSA_gen(static_cast<unsigned>(bits)),
             EVP_PKEY_free) {}

  [[nodiscard]] Json jwk() const {
    Json json(Json::Object{{"kid", id_}, {"use", "sig"}, {"kty", is_ec() ? "EC" : "RSA"}});
    if (is_ec()) json.set("crv", "P-256");
    const auto put = [&](const char* name, const char* parameter) {
      BIGNUM* number = nullptr;
      EXPECT_EQ(EVP_PKEY_get_bn_param(key_.get(), parameter, &number), 1);
      std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
      if (is_ec()) bytes.resize(32);
      BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
                   static_cast<int>(bytes.size()));
      BN_free(number);
      json.set(name, base64url(bytes));
    };
    put(is_ec() ? "x" : "n", is_ec() ? OSSL_PKEY_PARAM_EC_PUB_X : OSSL_PKEY_PARAM_RSA_N);
    put(is_ec() ? "y" : "e", is_ec() ? OSSL_PKEY_PARAM_EC_PUB_Y : OSSL_PKEY_PARAM_RSA_E);
    return json;
  }

  [[nodiscard]] std::string sign(const Json& claims, Json header = {}) const {
    if (header.is_null()) header = Json::Object{{"alg", algorithm_}, {"kid", id_}};
    const std::string text = base64url(header.dump()) + "." + base64url(claims.dump());
    return text + "." + base64url(signature(text));
  }

 private:
  [[nodiscard]] bool is_ec() const { return algorithm_ == "ES256"; }
  [[nodiscard]] std::string signature(const std::string& text) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* options = nullptr;
    EVP_DigestSignInit(context, &options, EVP_sha256(), nullptr, key_.get());
    if (algorithm_ == "PS256") {
      EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string made(1024, '\0');
    std::size_t size = made.size();
    auto* bytes = reinterpret_cast<unsigned char*>(made.data());
    EXPECT_EQ(EVP_DigestSign(context, bytes, &size,
                             reinterpret_cast<const unsigned char*>(text.data()), text.size()),
              1);
    EVP_MD_CTX_free(context);
    made.resize(size);
    if (!is_ec()) return made;
    const auto* der = reinterpret_cast<const unsigned char*>(made.data());
    ECDSA_SIG* both = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
    std::string raw(64, '\0');
    auto* out = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(both), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(both), out + 32, 32);
    ECDSA_SIG_free(both);
    return raw;
  }

  std::string id_;
  std::string algorithm_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

Keys keys_of(const std::vector<const Signer*>& signers) {
  Json::Array list;
  for (const Signer* signer : signers) list.push_back(signer->jwk());
  auto keys = Keys::parse(Json(Json::Object{{"keys", list}}).dump());
  EXPECT_TRUE(keys);
  return *std::move(keys);
}

constexpr std::int64_t kNow = 1'800'000'000;  // seconds
UtcTime now() { return utc_time(kNow * 1'000'000'000); }
Expected expected() { return {.issuer = "https://id.lab", .client = "corral", .nonce = "n-1"}; }
Json good_claims() {
  return Json::Object{{"iss", "https://id.lab"},
                      {"aud", "corral"},
                      {"sub", "s-1"},
                      {"nonce", "n-1"},
                      {"exp", kNow + 600},
                      {"iat", kNow - 1},
                      {"preferred_username", "ada"},
                      {"name", "Ada Lovelace"},
                      {"email", "ada@lab.org"},
                      {"email_verified", true}};
}
Json with(std::string name, Json value) {
  Json claims = good_claims();
  claims.set(std::move(name), std::move(value));
  return claims;
}
bool counts(const Json& claims) {
  return check_claims(claims.dump(), expected(), now()).has_value();
}

TEST(IdToken, CountsIfAKeyOfTheProviderSignedIt) {
  for (const char* algorithm : {"RS256", "PS256", "ES256"}) {
    const Signer signer("k1", algorithm);
    const Keys keys = keys_of({&signer});
    const std::string token = signer.sign(good_claims());
    const auto json = verify_signature(token, keys);
    ASSERT_TRUE(json) << algorithm << json.error().message;
    const auto who = check_claims(*json, expected(), now());
    ASSERT_TRUE(who) << who.error().message;
    EXPECT_EQ(who->subject, "s-1");
    EXPECT_EQ(who->username, "ada");
    EXPECT_EQ(who->name, "Ada Lovelace");
    EXPECT_EQ(who->email, "ada@lab.org");
    // Each bit of it counts.
    for (std::size_t at = 0; at < token.size(); at += 7) {
      std::string changed = token;
      // In the last letter of a part, only the first bits count.
      const bool high = changed[at] == '-' || changed[at] == '_' || changed[at] >= 'g' ||
                        (changed[at] >= '0' && changed[at] <= '9');
      changed[at] = high ? 'A' : '_';
      EXPECT_FALSE(verify_signature(changed, keys)) << algorithm << " at " << at;
    }
  }
}

TEST(IdToken, IsOfTheKeyThatItNames) {
  const Signer one("k1", "RS256"), two("k2", "RS256"), other("k1", "RS256");
  const Keys keys = keys_of({&one, &two});
  EXPECT_TRUE(verify_signature(two.sign(good_claims()), keys));
  EXPECT_FALSE(verify_signature(other.sign(good_claims()), keys)) << "a key of nobody";
  EXPECT_TRUE(verify_signature(two.sign(good_claims(), Json::Object{{"alg", "RS256"}}), keys))
      << "without a name any key counts";
  EXPECT_FALSE(verify_signature(
      two.sign(good_claims(), Json::Object{{"alg", "RS256"}, {"kid", "k1"}}), keys));
}

TEST(IdToken, OtherAlgorithmsAreRefused) {
  const Signer rsa("k1", "RS256"), ec("k1", "ES256");
  const Keys keys = keys_of({&rsa, &ec});
  for (const char* algorithm : {"none", "HS256", "RS1", "RS512", "rs256", ""}) {
    const Json header = Json::Object{{"alg", algorithm}, {"kid", "k1"}};
    EXPECT_FALSE(verify_signature(rsa.sign(good_claims(), header), keys)) << algorithm;
    const std::string bare = base64url(header.dump()) + "." + base64url(good_claims().dump()) + ".";
    EXPECT_FALSE(verify_signature(bare, keys)) << algorithm;
  }
  EXPECT_FALSE(verify_signature(
      rsa.sign(good_claims(), Json::Object{{"alg", "ES256"}, {"kid", "k1"}}), keys));
  EXPECT_FALSE(verify_signature(
      rsa.sign(good_claims(), Json::Object{{"alg", "PS256"}, {"kid", "k1"}}), keys));
  const Json critical = Json::Object{{"alg", "RS256"}, {"kid", "k1"}, {"crit", Json::Array{"exp"}}};
  EXPECT_FALSE(verify_signature(rsa.sign(good_claims(), critical), keys));
}

TEST(IdToken, KeysThatAreWeakOrForSomethingElseAreLeftOut) {
  const Signer weak("k1", "RS256", 1024);
  EXPECT_FALSE(verify_signature(weak.sign(good_claims()), keys_of({&weak})));
  const Signer good("k1", "RS256");
  for (const auto& [name, value] : {std::pair("use", "enc"), std::pair("alg", "RS512"),
                                    std::pair("kty", "oct"), std::pair("n", "AAAA")}) {
    Json jwk = good.jwk();
    jwk.set(name, value);
    const auto keys = Keys::parse(Json(Json::Object{{"keys", Json::Array{jwk}}}).dump());
    ASSERT_TRUE(keys) << name;
    EXPECT_FALSE(verify_signature(good.sign(good_claims()), *keys)) << name;
  }
  const Signer curve("k1", "ES256");
  Json off_curve = curve.jwk();
  off_curve.set("x", base64url(std::string(32, '\x01')));
  const auto keys = Keys::parse(Json(Json::Object{{"keys", Json::Array{off_curve}}}).dump());
  ASSERT_TRUE(keys);
  EXPECT_FALSE(verify_signature(curve.sign(good_claims()), *keys));
  for (const char* none : {"", "[]", "{}", R"({"keys":{}})"}) EXPECT_FALSE(Keys::parse(none));
}

TEST(IdToken, OtherTextsAreNone) {
  const Signer signer("k1", "RS256");
  const Keys keys = keys_of({&signer});
  const std::string token = signer.sign(good_claims());
  for (const std::string& text :
       {std::string(), std::string("a.b"), std::string("..."), "." + token, token + ".",
        base64url("[1]") + token.substr(token.find('.')), std::string(100'000, 'a')})
    EXPECT_FALSE(verify_signature(text, keys)) << text.substr(0, 80);
}

TEST(IdTokenClaims, AreForThisServerAndThisSignIn) {
  EXPECT_TRUE(counts(good_claims()));
  EXPECT_FALSE(counts(with("iss", "https://id.lab/")));
  EXPECT_FALSE(counts(with("iss", "https://evil.lab")));
  EXPECT_FALSE(counts(with("nonce", "n-2")));
  EXPECT_FALSE(counts(with("nonce", nullptr)));
  EXPECT_FALSE(counts(with("aud", "other")));
  EXPECT_FALSE(counts(with("aud", Json::Array{"other"})));
  EXPECT_FALSE(counts(with("aud", Json::Array{})));
  EXPECT_FALSE(counts(with("aud", nullptr)));
  EXPECT_TRUE(counts(with("aud", Json::Array{"corral"})));
  Json several = with("aud", Json::Array{"other", "corral"});
  EXPECT_FALSE(counts(several)) << "without azp it may have been made for the other one";
  several.set("azp", "corral");
  EXPECT_TRUE(counts(several));
  several.set("azp", "other");
  EXPECT_FALSE(counts(several));
  EXPECT_FALSE(counts(with("azp", "other")));
  Expected none = expected();
  none.nonce.clear();
  EXPECT_FALSE(check_claims(with("nonce", "").dump(), none, now())) << "a nonce is never empty";
}

TEST(IdTokenClaims, CountForAMinuteAroundTheirTimes) {
  EXPECT_TRUE(counts(with("exp", kNow - 59)));
  EXPECT_FALSE(counts(with("exp", kNow - 61)));
  EXPECT_FALSE(counts(with("exp", nullptr)));
  EXPECT_FALSE(counts(with("exp", "9999999999")));
  EXPECT_TRUE(counts(with("iat", kNow + 59)));
  EXPECT_FALSE(counts(with("iat", kNow + 61)));
  EXPECT_FALSE(counts(with("iat", nullptr)));
  EXPECT_TRUE(counts(with("nbf", kNow + 59)));
  EXPECT_FALSE(counts(with("nbf", kNow + 61)));
  EXPECT_FALSE(counts(with("nbf", "soon")));
}

TEST(IdTokenClaims, SayWhoItIs) {
  EXPECT_FALSE(counts(with("sub", "")));
  EXPECT_FALSE(counts(with("sub", 7)));
  EXPECT_FALSE(counts(with("sub", std::string("a\0b", 3))));
  EXPECT_FALSE(counts(with("sub", std::string(256, 's'))));
  const auto who = check_claims(with("email_verified", false).dump(), expected(), now());
  ASSERT_TRUE(who);
  EXPECT_EQ(who->email, "") << "anybody can write an address";
  const auto member = check_claims(with("groups", Json::Array{"x"}).dump(), expected(), now());
  EXPECT_EQ(member->groups, std::vector<std::string>{"x"});
  EXPECT_TRUE(check_claims(with("groups", "x").dump(), expected(), now())->groups.empty());
  EXPECT_FALSE(check_claims("[]", expected(), now()));
  EXPECT_FALSE(check_claims("", expected(), now()));
}

TEST(IdTokenClaims, AreCompletedByWhatTheProviderSaysOfTheSamePerson) {
  Claims who{.subject = "s-1", .username = "", .name = "Ada", .email = ""};
  EXPECT_FALSE(add_user_info(who, R"({"sub":"s-2","preferred_username":"eve"})", "groups"));
  EXPECT_FALSE(add_user_info(who, R"({"preferred_username":"eve"})", "groups"));
  EXPECT_FALSE(add_user_info(who, "", "groups"));
  EXPECT_EQ(who.username, "");
  EXPECT_TRUE(add_user_info(who, R"({"sub":"s-1","preferred_username":"ada","name":"Eve",
                                     "email":"a@lab.org","email_verified":"true","roles":["a",7,"","b"],"groups":["c"]})",
                            "roles"));
  EXPECT_EQ(who.groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(who.username, "ada");
  EXPECT_EQ(who.name, "Ada");
  EXPECT_EQ(who.email, "") << "a text is no true";
}

TEST(Attempt, ComesBackFromItsText) {
  const Attempt made = Attempt::make();
  EXPECT_GE(made.verifier.size(), 43U) << "RFC 7636, 4.1";
  EXPECT_LE(made.verifier.size(), 128U);
  const auto read = Attempt::parse(made.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, made.state);
  EXPECT_EQ(read->nonce, made.nonce);
  EXPECT_EQ(read->verifier, made.verifier);
  EXPECT_NE(Attempt::make().state, made.state);
  for (const char* none : {"", "a.b", "a..c", "a.b.c.d"})
    EXPECT_FALSE(Attempt::parse(none)) << none;
}

TEST(Provider, IsReachedSafely) {
  for (const char* issuer : {"https://id.lab", "https://id.lab/realms/x", "http://127.0.0.1:99",
                             "http://localhost:9/a", "http://[::1]:9"})
    EXPECT_TRUE(Provider::make({.issuer = issuer, .client = "c"})) << issuer;
  for (const char* issuer :
       {"", "id.lab", "http://id.lab", "http://127.0.0.1.evil.lab", "https://", "https:///x",
        "file:///etc/passwd", "http://localhost@evil.lab", "https://id.lab?x", "https://id.lab#x",
        "https://id .lab", "http://127.0.0.1@evil.lab:9"})
    EXPECT_FALSE(Provider::make({.issuer = issuer, .client = "c"})) << issuer;
  EXPECT_EQ((*Provider::make({.issuer = "https://id.lab:8443/realms/x", .client = "c"}))->host(),
            "id.lab:8443");
}

}  // namespace
}  // namespace corral::oidc
