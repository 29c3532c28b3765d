// Artifacts by both interfaces, over a directory, without a socket.

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "server/core/artifacts.h"
#include "server/core/test_handlers.h"
#include "store/artifacts/open/open_artifacts.h"
#include "sys/file.h"

namespace corral::server {
namespace {

class Artifacts : public HandlerTest {
 protected:
  Artifacts() {
    context_->artifacts = artifacts_.get();
    run_ = text(post("/api/2.0/mlflow/runs/create", R"({"experiment_id":"0"})"),
                {"run", "info", "run_id"});
  }

  Response get(std::string_view target, Pairs headers = {}) {
    return send(Method::kGet, target, "", std::move(headers));
  }
  Response put(const std::string& path, std::string body) {
    return send(Method::kPut, kProxy + path, std::move(body), {});
  }
  Response post(std::string_view target, std::string body) {
    return send(Method::kPost, target, std::move(body));
  }
  static std::string text(const Response& response, std::initializer_list<const char*> path) {
    const Json json = Json::parse(response.body).value();
    const Json* at = &json;
    for (const char* name : path) {
      at = at->find(name);
      if (at == nullptr) return "?";
    }
    return at->as_string() != nullptr ? *at->as_string() : at->dump();
  }
  static std::string header(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }
  [[nodiscard]] std::string of_run(const std::string& path) const {
    return "0/" + run_ + "/artifacts/" + path;
  }

  const std::string kProxy = "/api/2.0/mlflow-artifacts/artifacts/";
  const std::unique_ptr<store::artifacts::ArtifactStore> artifacts_ =
      store::artifacts::open_artifact_store((directory_ / "files").string()).value();
  std::string run_;
};

TEST_F(Artifacts, TheProxyStoresListsGivesAndRemoves) {
  EXPECT_EQ(put(of_run("model/MLmodel"), "flavors").status, 200);
  EXPECT_EQ(put(of_run("model/img%25step%251.png"), "pixels").status, 200);
  EXPECT_EQ(put(of_run("empty"), "").status, 200);
  EXPECT_EQ(get(kProxy + of_run("model/img%25step%251.png")).body, "pixels");
  const std::string list = "/api/2.0/mlflow-artifacts/artifacts?path=";
  EXPECT_EQ(get(list + of_run("model")).body,
            R"({"files":[{"path":"MLmodel","is_dir":false,"file_size":7},)"
            R"({"path":"img%step%1.png","is_dir":false,"file_size":6}]})");
  EXPECT_EQ(get(list + of_run("nothing")).body, "{}");
  EXPECT_EQ(get("/ajax-api/2.0/mlflow-artifacts/artifacts").body,
            R"({"files":[{"path":"0","is_dir":true}]})");
  EXPECT_EQ(send(Method::kDelete, kProxy + of_run("model")).status, 200);
  EXPECT_EQ(send(Method::kDelete, kProxy + of_run("model")).status, 200);
  const Response gone = get(kProxy + of_run("model/MLmodel"));
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(text(gone, {"error_code"}), "RESOURCE_DOES_NOT_EXIST");
}

TEST_F(Artifacts, NobodyReplacesTheMarkOfTheirPlace) {
  std::ofstream(directory_ / "files" / ".corral-place") << "7\n";
  EXPECT_EQ(put(".corral-place", "8\n").status, 400);
  EXPECT_EQ(put("%2ecorral-place", "8\n").status, 400);
  EXPECT_EQ(put(".corral-place/", "8\n").status, 400);
  EXPECT_EQ(send(Method::kDelete, kProxy + ".corral-place").status, 400);
  const Response refused = send(Method::kPost, "/api/2.0/mlflow-artifacts/mpu/create/",
                                R"({"path": "/home/me/.corral-place", "num_parts": 1})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(text(refused, {"message"}).find("Corral's own file"), std::string::npos);
  std::ifstream mark(directory_ / "files" / ".corral-place");
  int kept = 0;
  mark >> kept;
  EXPECT_EQ(kept, 7);
}

TEST_F(Artifacts, WaysOutAreRefused) {
  std::ofstream(directory_ / "secret") << "secret";
  std::filesystem::create_symlink(directory_, directory_ / "files" / "link");
  for (const char* path :
       {"../secret", "%2e%2e/secret", "%252e%252e%252fsecret", "a/..%2f..%2fsecret",
        "%2fetc%2fpasswd", "a%5c..%5cb", "a%23b", "..%255cb", "a//b"}) {
    for (const Method method : {Method::kGet, Method::kPut, Method::kDelete}) {
      const Response response = send(method, kProxy + path, "x");
      EXPECT_EQ(response.status, 400) << path;
      EXPECT_EQ(text(response, {"error_code"}), "INVALID_PARAMETER_VALUE");
    }
    const std::string query = "run_id=" + run_ + "&path=" + path;
    EXPECT_EQ(get("/api/2.0/mlflow/artifacts/list?" + query).status, 400) << path;
    EXPECT_EQ(get("/get-artifact?run_uuid=" + run_ + "&path=" + path).status, 400) << path;
  }
  for (const Method method : {Method::kGet, Method::kPut, Method::kDelete})
    EXPECT_EQ(send(method, kProxy + "link/secret", "x").status, 403);
  EXPECT_EQ(send(Method::kDelete, kProxy).status, 400);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "secret"));
}

TEST_F(Artifacts, OfARun) {
  put(of_run("a/b.txt"), "text");
  put(of_run("c.bin"), "12");
  const std::string list = "/api/2.0/mlflow/artifacts/list?run_id=" + run_;
  EXPECT_EQ(get(list).body, R"({"root_uri":"mlflow-artifacts:/0/)" + run_ +
                                R"(/artifacts","files":[{"path":"a","is_dir":true},)"
                                R"({"path":"c.bin","is_dir":false,"file_size":2}]})");
  EXPECT_NE(get(list + "&path=a").body.find(R"("path":"a/b.txt")"), std::string::npos);
  EXPECT_EQ(get(list + "&page_token=x").status, 400);
  const Response file = get("/get-artifact?run_uuid=" + run_ + "&path=a/b.txt");
  EXPECT_EQ(file.body, "text");
  EXPECT_EQ(header(file, "Content-Disposition"),
            "attachment; filename=\"b.txt\"; filename*=UTF-8''b.txt");
  EXPECT_EQ(get("/get-artifact?run_uuid=" + run_).status, 400);
  EXPECT_EQ(get("/get-artifact?run_uuid=" + std::string(32, '0') + "&path=a").status, 404);
  const std::string upload =
      "/ajax-api/2.0/mlflow/upload-artifact?run_uuid=" + run_ + "&path=up.txt";
  EXPECT_EQ(send(Method::kPost, upload, "from the page").status, 200);
  EXPECT_EQ(get(kProxy + of_run("up.txt")).body, "from the page");
  EXPECT_EQ(send(Method::kPost, upload, "").status, 400);
  EXPECT_EQ(send(Method::kPost, upload, std::string((10u << 20) + 1, 'x')).status, 400);
}

TEST_F(Artifacts, ImagesAreMadeSmallerOnceAndOtherwiseGivenWhole) {
  const std::string image(100'000, 'i');
  int made = 0;
  std::string thumbnail = "small";
  context_->make_thumbnail = [&](const sys::Fd& file, int width, const auto&) {
    EXPECT_EQ(sys::read_all(file, "image", 1u << 20).value(), image);
    EXPECT_EQ(width, 480);
    ++made;
    return thumbnail;
  };
  put(of_run("a.png"), image);
  put(of_run("few.png"), "few");
  put(of_run("a.gif"), image);
  const std::string files = "/api/corral/v1/runs/" + run_ + "/artifacts/";
  const Response small = get(files + "a.png?width=480");
  EXPECT_EQ(small.body, "small");
  EXPECT_EQ(header(small, "Content-Type"), "image/png");
  EXPECT_EQ(header(small, "Accept-Ranges"), "");
  EXPECT_NE(header(small, "Content-Security-Policy").find("sandbox"), std::string::npos);
  const std::string tag = header(small, "ETag");
  EXPECT_NE(tag, header(get(files + "a.png"), "ETag"));
  EXPECT_EQ(get(files + "a.png?width=480", {{"if-none-match", tag}}).status, 304);
  EXPECT_EQ(get(files + "a.png?width=480").body, "small");
  EXPECT_EQ(made, 1);
  for (const char* whole :
       {"a.png", "a.png?width=0", "a.png?width=480&download", "a.gif?width=480"})
    EXPECT_EQ(get(files + whole).body, image) << whole;
  EXPECT_EQ(get(files + "few.png?width=480").body, "few");
  EXPECT_EQ(get(files + "a.png?width=480", {{"range", "bytes=0-1"}}).body, "ii");
  for (const char* wrong : {"-1", "4097", "x"})
    EXPECT_EQ(get(files + "a.png?width=" + wrong).status, 400) << wrong;
  EXPECT_EQ(made, 1);
  // None could be made: the image itself, and no other try for a while. Another image is another.
  thumbnail = "";
  put(of_run("a.png"), image);
  for (int i = 0; i < 2; ++i) {
    const Response whole = get(files + "a.png?width=480");
    EXPECT_EQ(whole.body, image);
    EXPECT_EQ(header(whole, "ETag"), header(get(files + "a.png"), "ETag"));
  }
  EXPECT_EQ(made, 2);
}

TEST_F(Artifacts, WhatCorralKeepsItselfIsNotListedToClientsOfMlflow) {
  put(of_run("c.bin"), "12");
  put(of_run("corral/code.json"), "{}");
  put(of_run("corral/code/train.py"), "print(1)");
  const std::string list = "/api/2.0/mlflow/artifacts/list?run_id=" + run_;
  EXPECT_EQ(get(list).body.find("corral"), std::string::npos);
  EXPECT_EQ(get("/api/2.0/mlflow-artifacts/artifacts?path=0/" + run_ + "/artifacts").body,
            R"({"files":[{"path":"c.bin","is_dir":false,"file_size":2}]})");
  const std::string own = "/api/corral/v1/runs/" + run_ + "/artifacts";
  EXPECT_NE(get(own).body.find(R"("name":"corral")"), std::string::npos);
  EXPECT_EQ(get(own + "/corral/code/train.py").body, "print(1)");
}

TEST_F(Artifacts, RangesAndVersions) {
  put(of_run("f.bin"), "0123456789");
  const std::string target = kProxy + of_run("f.bin");
  const Response part = get(target, {{"range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(get(target, {{"range", "bytes=10-"}}).status, 416);
  const std::string etag = header(get(target), "ETag");
  EXPECT_EQ(get(target, {{"if-none-match", etag}}).status, 304);
  put(of_run("f.bin"), "abcdefghij");
  EXPECT_EQ(get(target, {{"if-none-match", etag}}).body, "abcdefghij");
  EXPECT_EQ(get(target, {{"range", "bytes=2-4"}, {"if-range", etag}}).body, "abcdefghij");
}

TEST_F(Artifacts, UploadsInPartsAreNotForDirectories) {
  const std::string mpu = "/api/2.0/mlflow-artifacts/mpu/";
  const Response refused =
      post(mpu + "create/0/run/artifacts", R"({"path":"/home/me/model.bin","num_parts":2})");
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(text(refused, {"error_code"}), "NOT_IMPLEMENTED");
  EXPECT_EQ(text(refused, {"message"}),
            "Multipart upload is not supported for the current artifact repository");
  EXPECT_EQ(post(mpu + "create/a", R"({"num_parts":2})").status, 400);
  EXPECT_EQ(post(mpu + "create/a", R"({"path":"..","num_parts":2})").status, 400);
  EXPECT_EQ(post(mpu + "create/a", R"({"path":"f","num_parts":20000})").status, 400);
}

TEST_F(Artifacts, PlacesOfOthersAreNotOpened) {
  const std::string place = (directory_ / "files").string();
  store::artifacts::ArtifactStore& files = *artifacts_;
  EXPECT_EQ(path_in_store(files, place + "/x/y", "f").value_or("?"), "x/y/f");
  EXPECT_EQ(path_in_store(files, "file://" + place, "f").value_or("?"), "f");
  EXPECT_EQ(path_in_store(files, "mlflow-artifacts:/x", "").value_or("?"), "x");
  EXPECT_EQ(path_in_store(files, "mlflow-artifacts:/a%20b", "c%20d").value_or("?"), "a b/c%20d");
  EXPECT_EQ(path_in_store(files, "mlflow-artifacts://host:5000/x", "f").value_or("?"), "x/f");
  for (const std::string& uri :
       {std::string("s3://bucket/x"), std::string("/etc"), place + "2/x", place + "/../secret",
        std::string("file:///etc"), std::string("mlflow-artifacts:/../x"), std::string("")})
    EXPECT_FALSE(path_in_store(files, uri, "f")) << uri;
  const Response made = post("/api/2.0/mlflow/experiments/create",
                             R"({"name":"elsewhere","artifact_location":"s3://bucket/x"})");
  const Response run = post("/api/2.0/mlflow/runs/create",
                            R"({"experiment_id":")" + text(made, {"experiment_id"}) + "\"}");
  const std::string id = text(run, {"run", "info", "run_id"});
  EXPECT_EQ(get("/api/2.0/mlflow/artifacts/list?run_id=" + id).status, 400);
}

TEST_F(Artifacts, ByTheNativeApi) {
  const std::string base = "/api/corral/v1/runs/" + run_ + "/artifacts";
  EXPECT_EQ(send(Method::kPut, base + "/plots/a%20b.svg", "<svg onload='alert(1)'/>").status, 200);
  EXPECT_EQ(get(base + "?path=plots").body,
            R"({"path":"plots","entries":[{"name":"a b.svg","is_dir":false,"size":"24"}]})");
  const Response file = get(base + "/plots/a%20b.svg");
  EXPECT_EQ(header(file, "Content-Type"), "image/svg+xml");
  EXPECT_TRUE(header(file, "Content-Security-Policy").starts_with("sandbox; default-src 'none'"));
  EXPECT_EQ(header(file, "Content-Disposition"),
            "inline; filename=\"a b.svg\"; filename*=UTF-8''a%20b.svg");
  EXPECT_TRUE(header(get(base + "/plots/a%20b.svg?download"), "Content-Disposition")
                  .starts_with("attachment"));
  EXPECT_EQ(get(base + "/nothing").status, 404);
  EXPECT_EQ(get(base + "/..%2fx").status, 400);
  EXPECT_EQ(get("/api/corral/v1/runs/nobody/artifacts").status, 404);
}

TEST_F(Artifacts, MediaAreListedByNameKindAndStep) {
  const std::string base = "/api/corral/v1/runs/" + run_;
  EXPECT_EQ(get(base + "/media").body, R"({"names":0,"media":[]})");
  for (const char* path :
       {"media/val=2Fsamples@10.png", "media/val=2Fsamples@9.png", "media/val=2Fsamples@-1.jpg",
        "media/val=2Fsamples@9.txt", "media/w@3.histogram.json", "media/note.txt", "notes.txt",
        "media/unknown.bin", "plots/roc.svg", "corral/code/logo.png", "deep/er/x.png",
        "images/dogs%25step%251%25timestamp%255%25u.png",
        "images/dogs%25step%251%25timestamp%254%25v.png",
        "images/dogs%25step%251%25timestamp%255%25u%25compressed.webp"})
    EXPECT_EQ(put(of_run(path), path).status, 200) << path;
  const Json index = Json::parse(get(base + "/media").body).value();
  std::vector<std::string> seen;
  for (const Json& one : *index.find("media")->as_array()) {
    std::string row = one.get_string("name") + " " + one.get_string("kind") + ":";
    for (const Json& step : *one.find("steps")->as_array())
      row += " " + step.find("step")->dump() + "=" + step.get_string("path");
    seen.push_back(row);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{
                      R"(dogs image: "1"=images/dogs%step%1%timestamp%5%u.png)",
                      "note text: null=media/note.txt", "plots/roc.svg image: null=plots/roc.svg",
                      R"(val/samples image: "-1"=media/val=2Fsamples@-1.jpg )"
                      R"("9"=media/val=2Fsamples@9.png "10"=media/val=2Fsamples@10.png)",
                      R"(val/samples text: "9"=media/val=2Fsamples@9.txt)",
                      R"(w histogram: "3"=media/w@3.histogram.json)"}));
  EXPECT_EQ(get(base + "/media?name=val/samples&from_step=0&to_step=9").body,
            R"({"names":2,"media":[{"name":"val/samples","kind":"image","count":1,"steps":[)"
            R"({"step":"9","path":"media/val=2Fsamples@9.png","size":"25"}]},)"
            R"({"name":"val/samples","kind":"text","count":1,"steps":[)"
            R"({"step":"9","path":"media/val=2Fsamples@9.txt","size":"25"}]}]})");
  EXPECT_EQ(get(base + "/media?from_step=x").status, 400);
  EXPECT_EQ(get("/api/corral/v1/runs/nobody/media").status, 404);
}

TEST_F(Artifacts, TablesOfMlflowAreMedia) {
  put(of_run("scores.json"), R"({"columns":["a"],"data":[[1]]})");
  put(of_run("config.json"), "{}");
  post("/api/2.0/mlflow/runs/set-tag",
       R"({"run_id":")" + run_ +
           R"(","key":"mlflow.loggedArtifacts",)"
           R"("value":"[{\"path\": \"scores.json\", \"type\": \"table\"}]"})");
  EXPECT_EQ(get("/api/corral/v1/runs/" + run_ + "/media").body,
            R"({"names":1,"media":[{"name":"scores.json","kind":"table","count":1,"steps":[)"
            R"({"step":null,"path":"scores.json","size":"30"}]}]})");
}

TEST_F(Artifacts, OfManyStepsAFewAreListedEvenlySpread) {
  std::filesystem::create_directories(directory_ / "files" / of_run("media"));
  for (int step = 0; step < 2500; ++step)
    std::ofstream(directory_ / "files" / of_run(fmt::format("media/x@{}.png", step)));
  const auto steps = [&](const std::string& query) {
    const Json index =
        Json::parse(get("/api/corral/v1/runs/" + run_ + "/media" + query).body).value();
    const Json& row = index.find("media")->as_array()->front();
    EXPECT_EQ(row.find("count")->dump(), "2500");
    return *row.find("steps")->as_array();
  };
  const Json::Array few = steps("");
  ASSERT_EQ(few.size(), 1000U);
  EXPECT_EQ(few.front().get_string("step"), "0");
  EXPECT_EQ(few[1].get_string("step"), "2");
  EXPECT_EQ(few.back().get_string("step"), "2499");
  EXPECT_EQ(steps("?name=x").size(), 2500U);
}

TEST_F(Artifacts, EqualMediaAreStoredOnce) {
  put(of_run("media/a@1.png"), "pixels");
  put(of_run("media/a@2.png"), "pixels");
  const auto files = directory_ / "files";
  EXPECT_TRUE(std::filesystem::equivalent(files / of_run("media/a@1.png"),
                                          files / of_run("media/a@2.png")));
  EXPECT_EQ(get(kProxy + of_run("media/a@2.png")).body, "pixels");
  put(of_run("media/a@2.png"), "others");
  EXPECT_EQ(get(kProxy + of_run("media/a@1.png")).body, "pixels");
}

TEST(ArtifactTypes, NothingThatABrowserRuns) {
  for (const char* name :
       {"a.html", "b.HTM", "c.js", "d.xml", "e.xhtml", "f.mjs", "MLmodel", "g.txt"})
    EXPECT_EQ(safe_content_type(name), "text/plain; charset=utf-8") << name;
  EXPECT_EQ(safe_content_type("a/b.PNG"), "image/png");
  EXPECT_EQ(safe_content_type("model.pkl"), "application/octet-stream");
  EXPECT_EQ(safe_content_type("html"), "application/octet-stream");
}

}  // namespace
}  // namespace corral::server
