#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/ids.h"
#include "http/server.h"
#include "http/test_client.h"

namespace corral::http {
namespace {

namespace fs = std::filesystem;

struct Issued {
  std::string certificate;
  std::string key;
};

std::string pem(const auto& write) {
  BIO* const bio = ::BIO_new(::BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(bytes));
  ::BIO_free(bio);
  return text;
}

struct Wish {
  std::string subject = "lab";
  std::string names = "DNS:Lab.example,DNS:*.lab.example,IP:10.0.0.7,DNS:localhost";
  long begin_s = -3600;
  long end_s = 3600;
  const Issued* issuer = nullptr;  // null: itself
};

EVP_PKEY* read_key(const std::string& text) {
  BIO* const bio = ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  EVP_PKEY* const key = ::PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  ::BIO_free(bio);
  return key;
}

Issued issue(const Wish& wish) {
  static std::atomic<long> serial{1};
  EVP_PKEY* const key = ::EVP_EC_gen("P-256");
  X509* const x = ::X509_new();
  ::X509_set_version(x, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(x), serial++);
  ::X509_gmtime_adj(X509_getm_notBefore(x), wish.begin_s);
  ::X509_gmtime_adj(X509_getm_notAfter(x), wish.end_s);
  X509_NAME* const name = ::X509_get_subject_name(x);
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(wish.subject.c_str()), -1, -1,
                               0);
  ::X509_set_pubkey(x, key);
  EVP_PKEY* signer = key;
  if (wish.issuer != nullptr) {
    BIO* const bio = ::BIO_new_mem_buf(wish.issuer->certificate.data(),
                                       static_cast<int>(wish.issuer->certificate.size()));
    X509* const parent = ::PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    ::X509_set_issuer_name(x, ::X509_get_subject_name(parent));
    ::X509_free(parent);
    ::BIO_free(bio);
    signer = read_key(wish.issuer->key);
  } else {
    ::X509_set_issuer_name(x, name);
  }
  X509_EXTENSION* const names =
      ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, wish.names.c_str());
  ::X509_add_ext(x, names, -1);
  ::X509_EXTENSION_free(names);
  ::X509_sign(x, signer, ::EVP_sha256());
  Issued issued{pem([&](BIO* bio) { ::PEM_write_bio_X509(bio, x); }), pem([&](BIO* bio) {
                  ::PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
                })};
  if (signer != key) ::EVP_PKEY_free(signer);
  ::EVP_PKEY_free(key);
  ::X509_free(x);
  return issued;
}

class TlsFiles : public ::testing::Test {
 protected:
  TlsFiles() { fs::create_directories(folder_); }
  ~TlsFiles() override { fs::remove_all(folder_); }

  void write(const fs::path& file, const std::string& text) const {
    // As tools that renew do it: never half of a file.
    const fs::path fresh = file.string() + ".new";
    std::ofstream(fresh) << text;
    ::chmod(fresh.c_str(), 0600);
    fs::rename(fresh, file);
  }
  void write(const Issued& issued) const {
    write(files_.certificate, issued.certificate);
    write(files_.key, issued.key);
  }
  [[nodiscard]] std::string refusal() const {
    const auto tls = Tls::open(files_);
    return tls ? "" : tls.error().message;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("corral-tls-" + RunId::random().hex());
  const Tls::Files files_{.certificate = folder_ / "lab.pem", .key = folder_ / "lab.key"};
};

TEST_F(TlsFiles, SaysTheNamesThatTheCertificateIsFor) {
  write(issue({}));
  const auto tls = Tls::open(files_);
  ASSERT_TRUE(tls) << tls.error().message;
  EXPECT_EQ((*tls)->host(), "lab.example");
  for (const char* host : {"lab.example", "a.lab.example", "10.0.0.7", "localhost"})
    EXPECT_TRUE((*tls)->covers(host)) << host;
  for (const char* host : {"", "example", "a.b.lab.example", "10.0.0.8", "*", ".lab.example.org"})
    EXPECT_FALSE((*tls)->covers(host)) << host;
}

TEST_F(TlsFiles, RefusesWhatDoesNotFitAndSaysWhy) {
  const Issued good = issue({});
  EXPECT_NE(refusal().find("lab.pem"), std::string::npos);  // there is none
  write({"no pem", good.key});
  EXPECT_NE(refusal().find("holds no certificate in PEM form"), std::string::npos) << refusal();
  write({good.certificate, "no pem"});
  EXPECT_NE(refusal().find("holds no private key in PEM form"), std::string::npos) << refusal();
  write({good.certificate, issue({}).key});
  EXPECT_NE(refusal().find("is not the key of the first certificate"), std::string::npos);
  write(issue({.end_s = -60}));
  EXPECT_NE(refusal().find("the certificate expired at "), std::string::npos) << refusal();
  write(issue({.begin_s = 600}));
  EXPECT_NE(refusal().find("the certificate is not valid before "), std::string::npos);
  write({good.certificate + good.certificate.substr(0, 200), good.key});
  EXPECT_NE(refusal().find("certificate 2 cannot be read"), std::string::npos) << refusal();
  write({good.certificate + issue({.subject = "stranger"}).certificate, good.key});
  EXPECT_NE(refusal().find("certificate 2 does not sign the one before it"), std::string::npos);
  write(good);
  ::chmod(files_.key.c_str(), 0644);
  EXPECT_NE(refusal().find("every user of this machine may read this key"), std::string::npos);
  ::chmod(files_.key.c_str(), 0640);  // some systems have a group for keys
  EXPECT_EQ(refusal(), "");
}

TEST_F(TlsFiles, TakesACertificateWithoutAnEnd) {
  constexpr long kCenturies = 400L * 365 * 86'400;
  write(issue({.end_s = kCenturies}));
  const auto tls = Tls::open(files_);
  ASSERT_TRUE(tls) << tls.error().message;
  EXPECT_GT((*tls)->not_after(), utc_time(9'200'000'000'000'000'000));
}

// A FIFO would keep the server waiting.
TEST_F(TlsFiles, ReadsRegularFilesOnly) {
  write(issue({}));
  fs::remove(files_.certificate);
  ASSERT_EQ(::mkfifo(files_.certificate.c_str(), 0600), 0);
  EXPECT_NE(refusal().find("lab.pem: is no regular file"), std::string::npos) << refusal();
}

TEST_F(TlsFiles, RefusesAKeyThatAsksForAPassphrase) {
  const Issued good = issue({});
  EVP_PKEY* const key = read_key(good.key);
  write({good.certificate, pem([&](BIO* bio) {
           ::PEM_write_bio_PKCS8PrivateKey(bio, key, ::EVP_aes_256_cbc(), "secret", 6, nullptr,
                                           nullptr);
         })});
  ::EVP_PKEY_free(key);
  EXPECT_NE(refusal().find("the key asks for a passphrase"), std::string::npos) << refusal();
}

TEST_F(TlsFiles, TakesTheCertificatesOfTheAuthoritiesInTheirOrder) {
  const Issued root = issue({.subject = "root"});
  const Issued middle = issue({.subject = "middle", .issuer = &root});
  const Issued leaf = issue({.issuer = &middle});
  write({leaf.certificate + middle.certificate + root.certificate, leaf.key});
  EXPECT_EQ(refusal(), "");
  write({leaf.certificate + root.certificate + middle.certificate, leaf.key});
  EXPECT_NE(refusal().find("certificate 2 does not sign"), std::string::npos) << refusal();
}

// A renewal whose certificate has come and whose key has not yet changes nothing.
TEST_F(TlsFiles, KeepsTheOldCertificateUntilTheNewOneIsWhole) {
  write(issue({}));
  const auto tls = Tls::open(files_).value();
  const auto before = tls->context();
  EXPECT_FALSE(tls->refresh().value());
  const Issued next = issue({.end_s = 7200});
  write(files_.certificate, next.certificate);
  EXPECT_FALSE(tls->refresh());
  EXPECT_FALSE(tls->refresh());
  EXPECT_EQ(tls->context(), before);
  write(files_.key, next.key);
  const UtcTime end = tls->not_after();
  EXPECT_TRUE(tls->refresh().value());
  EXPECT_NE(tls->context(), before);
  EXPECT_EQ(tls->not_after() - end, std::chrono::hours(1));
  fs::remove(files_.certificate);
  EXPECT_FALSE(tls->refresh());
  EXPECT_NE(tls->context(), nullptr);
}

struct Offer {
  int version = 0;          // 0: all
  std::string protocols{};  // ALPN, as it is sent
};

// A blocking client that trusts every certificate.
class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, const Offer& offer = {})
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        context_(::SSL_CTX_new(::TLS_client_method())) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(socket_.get(), where, sizeof address) != 0) return;
    ::SSL_CTX_set_security_level(context_, 0);
    if (offer.version != 0) {
      SSL_CTX_set_min_proto_version(context_, offer.version);
      SSL_CTX_set_max_proto_version(context_, offer.version);
    }
    ssl_ = ::SSL_new(context_);
    if (!offer.protocols.empty())
      ::SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offer.protocols.data()),
                            static_cast<unsigned>(offer.protocols.size()));
    ::SSL_set_fd(ssl_, socket_.get());
    connected_ = ::SSL_connect(ssl_) == 1;
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() {
    ::SSL_free(ssl_);
    ::SSL_CTX_free(context_);
  }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] SSL* ssl() const { return ssl_; }
  [[nodiscard]] int socket() const { return socket_.get(); }

  bool send(std::string_view bytes) {
    return ::SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // Reads until `needle` has come, and returns all that came; until the end without one.
  std::string read_until(std::string_view needle = {}) {
    std::string seen;
    std::array<char, 16384> buffer{};
    while (needle.empty() || seen.find(needle) == std::string::npos) {
      const int n = ::SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
      if (n <= 0) break;
      seen.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return seen;
  }
  // Returns true if the server has said that it ends, so that nothing can have been cut off.
  [[nodiscard]] bool ended_properly() const {
    return (::SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

 private:
  sys::Fd socket_;
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
};

class OverTls : public TlsFiles {
 protected:
  void start(HttpOptions options = {}) {
    write(issue({}));
    tls_ = Tls::open(files_).value();
    auto tcp = sys::listen_tcp({"127.0.0.1", 0}).value();
    auto plain = sys::listen_tcp({"127.0.0.1", 0}).value();
    port_ = *sys::bound_port(tcp);
    plain_port_ = *sys::bound_port(plain);
    std::vector<Listener> listeners;
    listeners.push_back(
        {.socket = std::move(tcp), .tls = tls_, .https_port = port_, .https_only = true});
    listeners.push_back({.socket = std::move(plain), .https_port = port_});
    HttpHandlers handlers{{}, handle_, {}, {}, traffic_};
    server_ = HttpServer::start(std::move(listeners), std::move(options), handlers).value();
  }
  [[nodiscard]] std::string ask(std::string_view target = "/a") const {
    TlsClient client(port_);
    client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return client.read_until();
  }

  std::function<Response(Request)> handle_ = [](const Request& request) {
    return text_response(std::string(request.over_tls ? "tls " : "plain ") + request.path + " " +
                         std::to_string(request.body.size()));
  };
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  std::shared_ptr<Tls> tls_;
  std::uint16_t port_ = 0;
  std::uint16_t plain_port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(OverTls, AnswersManyRequestsOfAConnection) {
  start();
  TlsClient client(port_);
  ASSERT_TRUE(client.connected());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" +
                std::string(300'000, 'b'));
    EXPECT_NE(client.read_until("tls /a 300000").find("200 OK"), std::string::npos);
  }
}

TEST_F(OverTls, SendsLongAnswersWholeAndEndsThemProperly) {
  handle_ = [](const Request&) {
    Response response = text_response("");
    response.stream = [left = 40](std::string& part) mutable {
      part.assign(100'000, static_cast<char>('a' + left % 26));
      return --left > 0;
    };
    return response;
  };
  start();
  TlsClient client(port_);
  client.send("GET / HTTP/1.0\r\nHost: x\r\n\r\n");
  const std::string answer = client.read_until();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 4'000'000u);
  EXPECT_TRUE(client.ended_properly());
}

TEST_F(OverTls, PushesAndEndsProperly) {
  const auto events = std::make_shared<PushStream>();
  handle_ = [events](const Request&) {
    Response response = text_response("");
    response.events = events;
    return response;
  };
  start();
  TlsClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  events->push("data: 1\n\n");
  EXPECT_EQ(client.read_until("\n\n"), "data: 1\n\n");
  events->close();
  EXPECT_EQ(client.read_until(), "");
  EXPECT_TRUE(client.ended_properly());
}

// Nobody keeps a connection by silence, such as a client whose token was revoked.
TEST_F(OverTls, APushStreamThatEndsIsGoneThoughItsClientIsSilent) {
  const auto events = std::make_shared<PushStream>();
  handle_ = [events](const Request&) {
    Response response = text_response("");
    response.events = events;
    return response;
  };
  start();
  const TlsClient client(port_);
  ::SSL_write(client.ssl(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
  while (traffic_->open < 1) std::this_thread::yield();
  events->close();
  while (traffic_->open > 0) std::this_thread::yield();
}

TEST_F(OverTls, ALateAnswerLearnsThatItsClientHasLeft) {
  std::atomic<bool> began{false};
  std::atomic<bool> noticed{false};
  handle_ = [&](const Request&) {
    Response response = text_response("");
    response.late = [&](const std::function<bool()>& left) {
      began = true;
      while (!left()) std::this_thread::yield();
      noticed = true;
      return text_response("late");
    };
    return response;
  };
  start();
  {
    TlsClient client(port_);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!began) std::this_thread::yield();
    ::SSL_shutdown(client.ssl());  // its last word comes before the end of the stream
  }
  while (!noticed) std::this_thread::yield();
}

TEST_F(OverTls, SpeaksNoOldVersionAndNoOtherProtocol) {
  start();
  EXPECT_FALSE(TlsClient(port_, {.version = TLS1_1_VERSION}).connected());
  EXPECT_TRUE(TlsClient(port_, {.version = TLS1_2_VERSION}).connected());
  EXPECT_TRUE(TlsClient(port_, {.version = TLS1_3_VERSION}).connected());
  EXPECT_FALSE(TlsClient(port_, {.protocols = "\x02h2"}).connected());
  const TlsClient both(port_, {.protocols = "\x02h2\x08http/1.1"});
  const unsigned char* chosen = nullptr;
  unsigned bytes = 0;
  ::SSL_get0_alpn_selected(both.ssl(), &chosen, &bytes);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(chosen), bytes), "http/1.1");
}

TEST_F(OverTls, PlainClientsAreLedToHttps) {
  start();
  for (const std::uint16_t port : {port_, plain_port_}) {
    TestClient reader(port);
    const auto led = reader.get("/runs/a%2Fb?page_token=1", "Host: lab.example:1\r\n");
    ASSERT_TRUE(led);
    EXPECT_EQ(led->status, 307);
    EXPECT_NE(led->head.find("Location: https://lab.example:" + std::to_string(port_) +
                             "/runs/a%2Fb?page_token=1\r\n"),
              std::string::npos)
        << led->head;
    EXPECT_EQ(led->head.find("Strict-Transport-Security"), std::string::npos);
    TestClient writer(port);
    writer.send("POST /a HTTP/1.1\r\nHost: lab.example\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(writer.reply()->status, 400);
    for (const char* head :
         {"GET / HTTP/1.1\r\nAuthorization: Bearer x\r\n", "GET /?token=x HTTP/1.1\r\n"}) {
      TestClient tells(port);
      tells.send(std::string(head) + "Host: lab.example\r\n\r\n");
      EXPECT_EQ(tells.reply()->status, 400) << head;
    }
    TestClient strange(port);
    EXPECT_EQ(strange.get("/", "Host: evil\"><b>\r\n")->status, 400);
    TestClient literal(port);
    EXPECT_NE(literal.get("/", "Host: [::1]:80\r\n")->head.find("https://[::1]:"),
              std::string::npos);
  }
  EXPECT_NE(ask().find("Strict-Transport-Security: max-age=31536000\r\n"), std::string::npos);
}

TEST_F(OverTls, ClientsThatNeverFinishTheirHandshakeAreDropped) {
  start({.header_timeout = std::chrono::milliseconds(200)});
  TestClient silent(port_);
  EXPECT_TRUE(silent.ends());
  TestClient half(port_);
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(half.ends());
  TestClient broken(port_);
  broken.send(std::string(1000, '\x16'));
  EXPECT_TRUE(broken.ends());
  // On a busy machine the time may be too short for a good one, too.
  std::string answer;
  for (const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
       answer.find("tls /a") == std::string::npos && std::chrono::steady_clock::now() < until;)
    answer = ask();
  EXPECT_NE(answer.find("tls /a"), std::string::npos);
}

// Connections that are open go on with the certificate that they began with, and none fails while
// it changes.
TEST_F(OverTls, AChangeOfCertificatesDisturbsNobody) {
  start();
  TlsClient old(port_);
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::atomic<int> answers{0};
  std::thread asking([&] {
    while (!done) ask().find("200 OK") == std::string::npos ? ++failures : ++answers;
  });
  for (int i = 0; i < 20; ++i) {
    write(issue({.end_s = 7200 + i}));
    ASSERT_TRUE(tls_->refresh().value());
    const int before = answers + failures;
    while (answers + failures == before) std::this_thread::yield();
  }
  done = true;
  asking.join();
  EXPECT_EQ(failures, 0);
  old.send("GET /old HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(old.read_until("tls /old").find("200 OK"), std::string::npos);
}

}  // namespace
}  // namespace corral::http
