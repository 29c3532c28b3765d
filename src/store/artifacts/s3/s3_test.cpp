#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "store/artifacts/s3/client.h"
#include "store/artifacts/s3/s3_store.h"
#include "store/artifacts/s3/test_s3.h"

namespace corral::store::artifacts {
namespace {

// ---- settings

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  };
}

TEST(S3Settings, FromTheEnvironment) {
  const auto settings =
      s3_settings("s3://runs/team/a/", environment_of({{"AWS_ACCESS_KEY_ID", "AK"},
                                                       {"AWS_SECRET_ACCESS_KEY", "S"},
                                                       {"AWS_SESSION_TOKEN", "T"},
                                                       {"AWS_DEFAULT_REGION", "eu-west-1"}}))
          .value();
  EXPECT_EQ(settings.bucket, "runs");
  EXPECT_EQ(settings.prefix, "team/a");
  EXPECT_EQ(settings.base_url, "https://runs.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(settings.keys.session, "T");
}

TEST(S3Settings, AnEndpointHoldsTheBucketInItsPath) {
  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", "AK"},
                                                  {"AWS_SECRET_ACCESS_KEY", "S"},
                                                  {"AWS_ENDPOINT_URL", "http://aws:1"}};
  EXPECT_EQ(s3_settings("s3://b-1", environment_of(variables))->base_url, "http://aws:1/b-1");
  variables["MLFLOW_S3_ENDPOINT_URL"] = "https://minio:9000/";
  const auto settings = s3_settings("s3://b-1", environment_of(variables)).value();
  EXPECT_EQ(settings.base_url, "https://minio:9000/b-1");
  EXPECT_EQ(settings.region, "us-east-1");
  variables["MLFLOW_S3_ENDPOINT_URL"] = "minio:9000";
  EXPECT_EQ(s3_settings("s3://b-1", environment_of(variables)).error().code,
            Code::kInvalidArgument);
}

TEST(S3Settings, ABucketWithDotsIsInThePath) {
  const auto environment =
      environment_of({{"AWS_ACCESS_KEY_ID", "AK"}, {"AWS_SECRET_ACCESS_KEY", "S"}});
  EXPECT_EQ(s3_settings("s3://a.b.c/x", environment)->base_url,
            "https://s3.us-east-1.amazonaws.com/a.b.c");
}

TEST(S3Settings, FromAProfile) {
  std::string name = (std::filesystem::temp_directory_path() / "corral-aws-XXXXXX").string();
  const std::filesystem::path home = ::mkdtemp(name.data());
  std::filesystem::create_directory(home / ".aws");
  std::ofstream(home / ".aws" / "credentials")
      << "# mine\n[default]\naws_access_key_id = D\naws_secret_access_key=d/+=\n\n[other]\n"
         "aws_access_key_id=O\naws_secret_access_key=o\n";
  std::ofstream(home / ".aws" / "config")
      << "[default]\nregion=eu-a\n[profile other]\nregion = eu-b\n";
  const auto plain = s3_settings("s3://bucket", environment_of({{"HOME", home.string()}})).value();
  EXPECT_EQ(plain.keys.access, "D");
  EXPECT_EQ(plain.keys.secret, "d/+=");
  EXPECT_EQ(plain.region, "eu-a");
  const auto other =
      s3_settings("s3://bucket",
                  environment_of({{"HOME", home.string()}, {"AWS_PROFILE", "other"}}))
          .value();
  EXPECT_EQ(other.keys.access, "O");
  EXPECT_EQ(other.region, "eu-b");
  EXPECT_EQ(s3_settings("s3://bucket", environment_of({})).error().code, Code::kUnauthenticated);
  std::filesystem::remove_all(home);
}

// ---- pure parts

// The example of AWS's documentation, "Authenticating Requests: Using Query Parameters".
TEST(S3Presign, ThePublishedExample) {
  S3Settings settings;
  settings.base_url = "https://examplebucket.s3.amazonaws.com";
  settings.region = "us-east-1";
  settings.keys = {.access = "AKIAIOSFODNN7EXAMPLE",
                   .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                   .session = ""};
  const std::string url = presigned_url(settings, {.method = "GET",
                                                   .key = "test.txt",
                                                   .now = UtcTime(std::chrono::seconds(1369353600)),
                                                   .valid = std::chrono::seconds(86400)});
  EXPECT_EQ(url,
            "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(S3Answers, WhatIsNoAnswerIsAnError) {
  for (const char* xml :
       {"", "<html>", "<ListBucketResult><Contents><Key>a</Key></Contents>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "<Other/>"}) {
    EXPECT_FALSE(parse_key_page(xml)) << xml;
    EXPECT_FALSE(parse_upload_id(xml)) << xml;
  }
}

TEST(S3Answers, KeysAreUnescaped) {
  const auto page = parse_key_page(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://x/\">"
      "<Contents><Key>a &amp; b/ü</Key><Size>5368709120</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->keys.at(0).key, "a & b/ü");
  EXPECT_EQ(page->keys.at(0).size, 5'368'709'120);
  EXPECT_EQ(page->next, "");
}

// ---- the store

class S3Store : public ::testing::Test {
 protected:
  S3Store() : store_(open_s3_store(s3_.settings())) {}

  Result<> put(std::string_view path, std::string_view content, std::optional<std::uint64_t> size) {
    auto writer = TRY(store_->create(path, size));
    for (std::size_t at = 0; at < content.size(); at += 700)
      TRY(writer->append(content.substr(at, 700)));
    return writer->commit();
  }
  Result<> put(std::string_view path, std::string_view content) {
    return put(path, content, content.size());
  }
  Result<std::string> get(std::string_view path, ByteRange range = {}) {
    auto reader = TRY(store_->open(path));
    std::string content;
    TRY(reader->read(range, [&](std::string_view piece) {
      content.append(piece);
      return true;
    }));
    return content;
  }
  std::vector<std::string> names(std::string_view path) {
    std::vector<std::string> names;
    const std::vector<Entry> entries = store_->list(path).value();
    for (const Entry& entry : entries)
      names.push_back(entry.name + (entry.is_dir ? "/" : "=" + std::to_string(entry.size)));
    return names;
  }
  void fault(const std::string& what, int status, int times = 1) {
    s3_.content.with([&](FakeS3::Content& c) {
      for (int i = 0; i < times; ++i) c.faults.emplace_back(what, status);
    });
  }
  template <class F>
  auto look(F f) {
    return s3_.content.with(f);
  }
  long count(const std::string& start) {
    return look([&](const FakeS3::Content& c) {
      return std::ranges::count_if(c.requests, [&](const auto& r) { return r.starts_with(start); });
    });
  }
  std::size_t uploads() {
    return look([](const FakeS3::Content& c) { return c.uploads.size(); });
  }

  FakeS3 s3_;
  std::unique_ptr<ArtifactStore> store_;
};

using Names = std::vector<std::string>;

std::string numbers(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
  text.resize(size);
  return text;
}

TEST_F(S3Store, WhatWasWrittenIsReadAndListed) {
  ASSERT_TRUE(put("a/ü b+c%&.txt", "text"));
  ASSERT_TRUE(put("a/empty", ""));
  ASSERT_TRUE(put("a/dir/f", "1"));
  ASSERT_TRUE(put("a/dir/g", "2"));
  EXPECT_EQ(get("a/ü b+c%&.txt"), "text");
  EXPECT_EQ(get("a/empty"), "");
  look([](FakeS3::Content& c) {
    EXPECT_TRUE(c.objects.contains("some/prefix/a/ü b+c%&.txt"));
    EXPECT_TRUE(c.authorizations.front().starts_with("AWS4-HMAC-SHA256 Credential=AK/"));
    c.objects["some/prefix/a/&.txt"] = "";  // not to break the list's XML
    c.objects.erase("some/prefix/a/&.txt");
    c.objects.erase("some/prefix/a/ü b+c%&.txt");
  });
  EXPECT_EQ(names("a"), (Names{"dir/", "empty=0"}));
  EXPECT_EQ(names(""), (Names{"a/"}));
  EXPECT_EQ(names("nothing"), Names());
  EXPECT_EQ(get("nothing").error().code, Code::kNotFound);
  EXPECT_EQ(store_->open("a").error().code, Code::kNotFound);
}

TEST_F(S3Store, ListsPageByPage) {
  look([](FakeS3::Content& c) { c.page = 3; });
  Names expected;
  for (char c = 'a'; c < 'a' + 10; ++c) {
    ASSERT_TRUE(put(std::string("d/") + c, ""));
    expected.push_back(std::string(1, c) + "=0");
  }
  EXPECT_EQ(names("d"), expected);
  EXPECT_EQ(count("GET ?"), 4);
}

TEST_F(S3Store, AFileThatFitsOnePartIsOneRequest) {
  ASSERT_TRUE(put("f", numbers(1000)));
  EXPECT_EQ(count(""), 1);
  EXPECT_EQ(get("f"), numbers(1000));
}

TEST_F(S3Store, ALongFileGoesInParts) {
  const std::string content = numbers(10'500);
  ASSERT_TRUE(put("f", content));
  EXPECT_EQ(get("f"), content);
  EXPECT_EQ(count("PUT some/prefix/f?partNumber="), 11);
  EXPECT_EQ(uploads(), 0);
  ASSERT_TRUE(put("g", content, std::nullopt));
  EXPECT_EQ(get("g"), content);
  EXPECT_EQ(count("PUT some/prefix/g?partNumber="), 6);
  EXPECT_EQ(look([](const FakeS3::Content& c) { return c.longest_body; }), 2000);
}

TEST_F(S3Store, PartsThatFillWaitInAFile) {
  S3Settings settings = s3_.settings();
  settings.held_bytes = 100;
  settings.scratch = ::testing::TempDir();
  store_ = open_s3_store(settings);
  const std::string content = numbers(10'500);
  ASSERT_TRUE(put("f", content));
  EXPECT_EQ(get("f"), content);
  ASSERT_TRUE(put("short", numbers(500)));
  EXPECT_EQ(get("short"), numbers(500));
  settings.scratch = "/nowhere";
  store_ = open_s3_store(settings);
  ASSERT_TRUE(put("g", content));
  EXPECT_EQ(get("g"), content);
}

TEST_F(S3Store, Ranges) {
  ASSERT_TRUE(put("f", "0123456789"));
  EXPECT_EQ(get("f", {.offset = 3, .length = 4}), "3456");
  EXPECT_EQ(get("f", {.offset = 8, .length = 100}), "89");
  EXPECT_EQ(get("f", {.offset = 10}), "");
}

TEST_F(S3Store, AReaderSaysSoWhenItsVersionIsGone) {
  ASSERT_TRUE(put("f", "0123456789"));
  auto reader = store_->open("f").value();
  ASSERT_TRUE(put("f", "other bytes"));
  const auto read = reader->read({}, [](std::string_view) { return true; });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kConflict);
}

TEST_F(S3Store, AReaderMayStop) {
  ASSERT_TRUE(put("f", "0123456789"));
  EXPECT_TRUE(store_->open("f").value()->read({}, [](std::string_view) { return false; }));
}

TEST_F(S3Store, TriesAgainWhatPasses) {
  fault("PUT", 503, 2);
  fault("POST", 500);
  fault("PUT", 503);
  fault("POST some/prefix/f?uploadId", 200);  // an error after the head of the answer
  EXPECT_TRUE(put("e", "1"));
  EXPECT_TRUE(put("f", numbers(3000)));
  EXPECT_EQ(get("f"), numbers(3000));
  EXPECT_TRUE(look([](const FakeS3::Content& c) { return c.faults.empty(); }));
}

TEST_F(S3Store, AFailedUploadIsAborted) {
  fault("PUT some/prefix/f?partNumber=2", 503, 4);
  const auto failed = put("f", numbers(5000));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_EQ(uploads(), 0);
  EXPECT_EQ(get("f").error().code, Code::kNotFound);
}

TEST_F(S3Store, AnUploadWithoutCommitIsAborted) {
  {
    auto writer = store_->create("f", std::nullopt).value();
    ASSERT_TRUE(writer->append(numbers(5000)));
    EXPECT_EQ(uploads(), 1);
  }
  EXPECT_EQ(uploads(), 0);
  EXPECT_EQ(names(""), Names());
}

TEST_F(S3Store, WhatDoesNotPassIsNotTriedAgain) {
  fault("PUT", 403);
  EXPECT_EQ(put("f", "1").error().code, Code::kPermission);
  fault("PUT", 507);
  EXPECT_EQ(put("f", "1").error().code, Code::kNoSpace);
  EXPECT_EQ(count("PUT"), 2);
}

TEST_F(S3Store, NobodyThereIsUnavailable) {
  s3_.stop();
  EXPECT_EQ(put("f", "1").error().code, Code::kUnavailable);
  EXPECT_EQ(store_->list("").error().code, Code::kUnavailable);
  EXPECT_EQ(store_->open("f").error().code, Code::kUnavailable);
}

TEST_F(S3Store, RemovesAFileOrATree) {
  look([](FakeS3::Content& c) { c.page = 2; });
  for (const char* path : {"d", "d/a", "d/b/c", "d/b/e", "d/f", "dd"}) ASSERT_TRUE(put(path, "x"));
  EXPECT_TRUE(store_->remove("d"));
  EXPECT_EQ(names(""), (Names{"dd=1"}));
  EXPECT_TRUE(store_->remove("nothing"));
  EXPECT_EQ(store_->remove("").error().code, Code::kInvalidArgument);
}

TEST_F(S3Store, PartsThatClientsSendThemselves) {
  const auto upload = store_->create_multipart("f", 2).value();
  ASSERT_EQ(upload.parts.size(), 2);
  EXPECT_EQ(upload.parts[1].number, 2);
  EXPECT_NE(upload.parts[1].url.find("/bucket/some/prefix/f?"), std::string::npos);
  EXPECT_NE(upload.parts[1].url.find("partNumber=2&uploadId=up%2F1%2B%3D&"), std::string::npos);
  look([&](FakeS3::Content& c) { c.uploads.at(upload.id) = {{1, "one "}, {2, "two"}}; });
  const std::vector<UploadedPart> parts = {{.number = 2, .etag = "\"2\""},
                                           {.number = 1, .etag = "\"1\""}};
  EXPECT_TRUE(store_->complete_multipart("f", upload.id, parts));
  EXPECT_EQ(get("f"), "one two");
  EXPECT_TRUE(store_->abort_multipart("f", store_->create_multipart("f", 1)->id));
  EXPECT_EQ(uploads(), 0);
  EXPECT_EQ(store_->complete_multipart("f", "no such", parts).error().code, Code::kNotFound);
  EXPECT_EQ(store_->create_multipart("f", 0).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->create_multipart("f", 10'001).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace corral::store::artifacts
