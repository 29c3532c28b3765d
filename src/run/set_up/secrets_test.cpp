#include "run/set_up/secrets.h"

#include <gtest/gtest.h>

namespace corral::run::set_up {
namespace {

using Words = std::vector<std::string>;

Words masked(Words words) { return Mask(true).words(std::move(words)); }
std::string masked_text(std::string_view text) { return Mask(true).text(text); }

TEST(Secrets, OfParamsAreFoundByTheLastPartOfTheirName) {
  for (const char* name : {"password", "db/password", "+db.password", "my password", "--token"})
    EXPECT_EQ(Mask(true).params({{name, "hunter2"}}), (NamedValues{{name, "***"}})) << name;
  for (const char* name : {"password/length", "tokenizer", "a/b", ""})
    EXPECT_EQ(Mask(true).params({{name, "7"}}), (NamedValues{{name, "7"}})) << name;
  EXPECT_EQ(Mask(false).params({{"password", "hunter2"}}), (NamedValues{{"password", "hunter2"}}));
}

TEST(Secrets, OfParamsAreNotInTheRowsCellEither) {
  const auto cell = [](const char* secret, const char* text) {
    return Mask(true).params({{"password", secret}, {"lr", "0.1"}, {"params", text}}).back().second;
  };
  EXPECT_EQ(cell("a b", "--password a b --lr 0.1"), "--password *** --lr 0.1");
  EXPECT_EQ(cell("a b", "--password a   b --lr 0.1"), "***");
  EXPECT_EQ(cell("", "--lr 0.1"), "--lr 0.1");
}

TEST(Secrets, AreFoundByWholeNames) {
  for (const auto* name : {"password",
                           "db-password",
                           "api-key",
                           "API_KEY",
                           "apiKey",
                           "apikey",
                           "wandb-api-key",
                           "token",
                           "HF_TOKEN",
                           "hub_token",
                           "secret",
                           "client-secret",
                           "AWS_SECRET_ACCESS_KEY",
                           "private.key",
                           "PGPASSWORD",
                           "A_TOKEN",
                           "AWS_SESSION_TOKEN",
                           "SLACK_BOT_TOKEN",
                           "MYSQL_PWD",
                           "DB_PASS",
                           "PRIVATE-TOKEN",
                           "refresh_token",
                           "AccountKey"})
    EXPECT_TRUE(names_secret(name)) << name;
  for (const auto* name : {"tokenizer", "tokens", "max-tokens", "pad-token", "eos_token", "key",
                           "key-dim", "passes", "author", "secretary", "password-length",
                           "PAD_TOKEN", "MAX_TOKENS", "PWD", "forward_pass", "sig", ""})
    EXPECT_FALSE(names_secret(name)) << name;
}

TEST(Secrets, OnTheCommandLineTheirValuesAreMasked) {
  EXPECT_EQ(
      masked({"train.py", "--api-key=abc", "--password", "hunter2", "--tokenizer", "bpe", "--token",
              "--lr", "0.1", "api_key=x", "HF_TOKEN=y", "--out=my-secret", "z"}),
      (Words{"train.py", "--api-key=***", "--password", "***", "--tokenizer", "bpe", "--token",
             "--lr", "0.1", "api_key=***", "HF_TOKEN=***", "--out=my-secret", "z"}));
  EXPECT_EQ(masked({"sh", "-c", "HF_TOKEN=abc train --password 'a b' --lr 1"}),
            (Words{"sh", "-c", "HF_TOKEN=*** train --password '***' --lr 1"}));
}

TEST(Secrets, InCodeTheyAreMaskedWhereAValueIs) {
  EXPECT_EQ(masked_text("+API_KEY = 'sk-1'\n-password: hunter2\n \"secret\": \"x\", \"n\": 1\n"),
            "+API_KEY = '***'\n-password: ***\n \"secret\": \"***\", \"n\": 1\n");
  EXPECT_EQ(masked_text("def f(token: str = \"abc\", n: int = 3)"),
            "def f(token: str = \"***\", n: int = 3)");
  EXPECT_EQ(masked_text("os.environ[\"HF_TOKEN\"] = \"hf_x\"; d.setdefault('api_key', 'k')"),
            "os.environ[\"HF_TOKEN\"] = \"***\"; d.setdefault('api_key', '***')");
  for (const auto* code : {"token = read_token()", "if token == 'a':", "tokenizer = 'bpe'",
                           "password=None", "a password is needed", "token", "secret = \"\""})
    EXPECT_EQ(masked_text(code), code);
}

TEST(Secrets, InAddressesTheyAreMasked) {
  EXPECT_EQ(masked_text("git+https://ann:pw@host/x https://ghp_0123456789abcdefghij@github.com/y"),
            "git+https://ann:***@host/x https://***@github.com/y");
  for (const auto* text : {"ssh://git@host/x", "https://host/a?to=a@b", "s3://bucket/a:b@c", "://"})
    EXPECT_EQ(masked_text(text), text);
}

TEST(Secrets, OfSeveralWordsAreMaskedAsAWhole) {
  EXPECT_EQ(masked({"curl", "-H", "Authorization: Bearer sk-1", "--header=Cookie: a=b; c=d", "-v"}),
            (Words{"curl", "-H", "Authorization: ***", "--header=Cookie: ***", "-v"}));
  EXPECT_EQ(masked({"sh", "-c", "curl -H 'Authorization: Basic YQ==' -v; A_TOKEN=x go -v"}),
            (Words{"sh", "-c", "curl -H 'Authorization: ***' -v; A_TOKEN=*** go -v"}));
  EXPECT_EQ(masked({"env", "PASSPHRASE=correct horse battery", "go"}),
            (Words{"env", "PASSPHRASE=***", "go"}));
  EXPECT_EQ(masked_text("password: hun,ter;2\nnext: 1"), "password: ***\nnext: 1");
}

TEST(Secrets, InQueriesTheyAreMaskedAlone) {
  EXPECT_EQ(masked_text("https://h/a?sv=1&sig=x%3D&token=abc&page=2#top ?key=y&n=1"),
            "https://h/a?sv=1&sig=***&token=***&page=2#top ?key=***&n=1");
}

TEST(Secrets, InAnyKindOfQuotesTheyAreMasked) {
  EXPECT_EQ(masked_text("token = f\"sk-{n}\"; api_key=rb'x' ; password = \"a\\\"b\""),
            "token = f\"***\"; api_key=rb'***' ; password = \"***\"");
  EXPECT_EQ(masked_text("+PASSWORD = \"\"\"one\n+two\"\"\"\n+n = 1\n"),
            "+PASSWORD = \"\"\"***\"\"\"\n+n = 1\n");
  EXPECT_EQ(masked_text("-d {\\\"api_key\\\": \\\"sk-1\\\", \\\"n\\\": 1}"),
            "-d {\\\"api_key\\\": \\\"***\\\", \\\"n\\\": 1}");
}

TEST(Secrets, PrivateKeysAreMasked) {
  const std::string key =
      "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAA=\n-----END RSA PRIVATE KEY-----\n";
  const std::string left = "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\n";
  EXPECT_EQ(masked_text("a\n" + key + "b\n" + key), "a\n" + left + "b\n" + left);
  for (const auto* text : {"if '-----BEGIN PRIVATE KEY-----' in x:\n  y()\n",
                           "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n"})
    EXPECT_EQ(masked_text(text), text);
}

TEST(Secrets, AreCountedAndLeftAloneOnDemand) {
  Mask mask(true);
  mask.words({"--token", "a", "--password=b"});
  mask.text("secret = 'x'");
  EXPECT_EQ(mask.masked(), 3U);
  std::vector<codec::Fact> facts;
  add_masked("command", mask, facts);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].key + "=" + facts[0].value, "masked.command=3");
  Mask off(false);
  EXPECT_EQ(off.words({"--token", "a"}), (Words{"--token", "a"}));
  EXPECT_EQ(off.text("secret = 'x' https://a:b@c"), "secret = 'x' https://a:b@c");
  add_masked("command", off, facts);
  EXPECT_EQ(facts.size(), 1U);
}

TEST(Refusal, Names) {
  for (const char* name :
       {".env", "a/.env.local", "prod.env", "server.PEM", "id_rsa", "id_ed25519.pub", ".netrc",
        "kaggle.json", "credentials.json", "Secrets.toml", "my-service-account-1.json",
        ".aws/config", "x/.ssh/known_hosts"})
    EXPECT_FALSE(refused_name(name).empty()) << name;
  for (const char* name : {"train.py", "environment.yml", "keys.py", "tokens.py", "env.py",
                           "secretsanta.py", "monkey.py"})
    EXPECT_TRUE(refused_name(name).empty()) << name;
}

std::string_view scanned(std::string_view text, bool literals = true) {
  SecretScan scan(literals);
  for (const char c : text) scan.add(std::string_view(&c, 1));
  return scan.finish();
}

TEST(Refusal, Contents) {
  for (const char* text :
       {"k = 'AKIAIOSFODNN7EXAMPLE'", "x\nhf_AbCdEfGhIjKlMnOpQrStUvWxYz012345\ny",
        "sk-proj-Abc123Abc123Abc123Abc", "glpat-0123456789abcdefghij", "xoxb-0123456789-abc",
        "github_pat_0123456789abcdefghijkl", "api_key = \"0123456789abcdef\"",
        "{\"password\": \"correct-horse\"}", "-----BEGIN OPENSSH PRIVATE KEY-----"})
    EXPECT_FALSE(scanned(text).empty()) << text;
  for (const char* text :
       {"token = tokenizer", "password = args.password", "password='short'",
        "pad_token = \"<|endoftext|>\"", "token = \"<|endoftext|>\"", "secret = '${MY_SECRET}'",
        "token = os.environ['HF_TOKEN']", "api_key = 'WANDB_API_KEY'",
        "password = 'two words here'", "sk-learn-compatible-estimators-v2",
        "hf_hub_download_of_a_long_name_0", "mask-AKIA"})
    EXPECT_TRUE(scanned(text).empty()) << text << ": " << scanned(text);
  EXPECT_TRUE(scanned("password = 'correct-horse'", false).empty());
  EXPECT_FALSE(scanned("ghp_0123456789abcdefghijklmnopqrstuvwxyz", false).empty());
}

TEST(Refusal, KeysAndTokensInADiff) {
  DiffScan scan;
  EXPECT_EQ(scan.line("+x = 1"), "+x = 1");
  EXPECT_EQ(scan.line("-t = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'"), "-***");
  EXPECT_EQ(scan.line("+-----BEGIN PRIVATE KEY-----"), "+***");
  EXPECT_EQ(scan.line("+MIIEvQ"), "+***");
  EXPECT_EQ(scan.line("+-----END PRIVATE KEY-----"), "+***");
  EXPECT_EQ(scan.line(" y = 2"), " y = 2");
}

}  // namespace
}  // namespace corral::run::set_up
