#include "run/set_up/refusal.h"

#include <gtest/gtest.h>

namespace corral::run::set_up {
namespace {

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
