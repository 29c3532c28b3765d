#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "core/ids.h"

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
  EXPECT_EQ((*tls)->names(), (std::vector<std::string>{"lab.example", "localhost", "10.0.0.7"}));
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
  ::chmod(files_.key.c_str(), 0640);  // of a group for such keys
  EXPECT_EQ(refusal(), "");
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
  EXPECT_FALSE(tls->refresh().value());  // said once
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

}  // namespace
}  // namespace corral::http
