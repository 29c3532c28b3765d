#include "http/tls.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::http {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = 1u << 20;

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES, GENERAL_NAMES_free>>;

Error bad(const fs::path& file, std::string_view what) {
  return {Code::kInvalidArgument, fmt::format("{}: {}", file.string(), what)};
}

// Clears what OpenSSL has noted on this thread.
std::string last_reason() {
  const unsigned long code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* const reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

Bio bio_of(std::string_view text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_passphrase(char*, int, int, void*) { return -1; }

// A pipe would be waited for.
Result<std::string> read_regular(const fs::path& file) {
  std::error_code error;
  const fs::file_status found = fs::status(file, error);
  if (fs::exists(found) && !fs::is_regular_file(found))
    return tl::unexpected(bad(file, "is no regular file"));
  return sys::read_file(file, kMostFileBytes);
}

Result<std::vector<Certificate>> read_chain(const fs::path& file) {
  const std::string text = TRY(read_regular(file));
  const Bio bio = bio_of(text);
  std::vector<Certificate> chain;
  while (X509* next = ::PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
    chain.emplace_back(next);
  const bool at_end = ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = last_reason();
  if (chain.empty())
    return tl::unexpected(
        bad(file, "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"));
  if (!at_end)
    return tl::unexpected(
        bad(file, fmt::format("certificate {} cannot be read: {}", chain.size() + 1, reason)));
  return chain;
}

Result<Key> read_key(const fs::path& file) {
  std::string text = TRY(read_regular(file));
  Key key(::PEM_read_bio_PrivateKey(bio_of(text).get(), nullptr, no_passphrase, nullptr));
  const bool locked = text.find("ENCRYPTED") != std::string::npos;
  ::OPENSSL_cleanse(text.data(), text.size());
  ::ERR_clear_error();
  if (key) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return fail_errno(file.string(), errno);
    if ((info.st_mode & S_IROTH) == 0) return key;
    return fail(Code::kPermission,
                fmt::format("{}: every user of this machine may read this key: chmod o-rwx it",
                            file.string()));
  }
  return tl::unexpected(bad(file, locked ? "the key asks for a passphrase, which nobody can type "
                                           "here: store it without one, mode 0600"
                                         : "holds no private key in PEM form"));
}

// Cut to the times that UtcTime has; the longest ago for what is no time.
UtcTime time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return UtcTime::min();
  constexpr auto kMost = std::chrono::duration_cast<std::chrono::seconds>(Nanos::max());
  return UtcTime(std::clamp(std::chrono::seconds(::timegm(&parts)), -kMost, kMost));
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const int length = ::ASN1_STRING_length(address);
  if (length != 4 && length != 16) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(length == 4 ? AF_INET : AF_INET6, ::ASN1_STRING_get0_data(address), text.data(),
              text.size());
  return text.data();
}

std::vector<std::string> names_of(const X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      ::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> hosts, addresses;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_IPADD) addresses.push_back(address_text(name->d.iPAddress));
    if (name->type != GEN_DNS) continue;
    const std::string_view text(
        reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name->d.dNSName)),
        static_cast<std::size_t>(::ASN1_STRING_length(name->d.dNSName)));
    if (is_utf8(text) && text.find('\0') == std::string_view::npos)
      hosts.push_back(lower_ascii(text));
  }
  hosts.insert(hosts.end(), addresses.begin(), addresses.end());
  std::erase(hosts, "");
  return hosts;
}

// The certificate is the key's, its time has come and is not over, and each other one signs the one
// before it.
Result<> check(const Tls::Files& files, const std::vector<Certificate>& chain, EVP_PKEY* key) {
  const bool pair = ::X509_check_private_key(chain.front().get(), key) == 1;
  ::ERR_clear_error();
  if (!pair)
    return tl::unexpected(
        bad(files.key, "is not the key of the first certificate in " + files.certificate.string()));
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::string which = i == 0 ? "the certificate" : fmt::format("certificate {}", i + 1);
    const UtcTime begin = time_of(::X509_get0_notBefore(chain[i].get()));
    const UtcTime end = time_of(::X509_get0_notAfter(chain[i].get()));
    const UtcTime now = sys::utc_now();
    if (begin == UtcTime::min())
      return tl::unexpected(bad(files.certificate, which + " has a date that cannot be read"));
    if (now < begin)
      return tl::unexpected(
          bad(files.certificate, fmt::format("{} is not valid before {}", which, iso_utc(begin))));
    if (now > end)
      return tl::unexpected(
          bad(files.certificate, fmt::format("{} expired at {}", which, iso_utc(end))));
    const bool signs =
        i == 0 || ::X509_check_issued(chain[i].get(), chain[i - 1].get()) == X509_V_OK;
    if (!signs)
      return tl::unexpected(
          bad(files.certificate,
              fmt::format("certificate {} does not sign the one before it: the server's comes "
                          "first, then that of each next authority",
                          i + 1)));
  }
  return {};
}

// Takes HTTP/1.1 of what the client offers.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned offered_bytes, void*) {
  static constexpr std::array<unsigned char, 9> kOurs = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int result =
      ::SSL_select_next_proto(&found, length, kOurs.data(), kOurs.size(), offered, offered_bytes);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<Tls::Context> make_context(const std::vector<Certificate>& chain, EVP_PKEY* key) {
  const Tls::Context context(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  SSL_CTX* c = context.get();
  bool done = c != nullptr && SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) == 1 &&
              ::SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
              ::SSL_CTX_use_certificate(c, chain.front().get()) == 1 &&
              ::SSL_CTX_use_PrivateKey(c, key) == 1;
  for (std::size_t i = 1; done && i < chain.size(); ++i)
    done = SSL_CTX_add1_chain_cert(c, chain[i].get()) == 1;
  if (!done)
    return fail(Code::kInvalidArgument, "TLS refuses this certificate or key: " + last_reason());
  ::SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_alpn_select_cb(c, choose_protocol, nullptr);
  return context;
}

std::string stamp_of(const Tls::Files& files) {
  std::string text;
  for (const fs::path& file : {files.certificate, files.key}) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) info = {};
    text += fmt::format("{} {} {} {}.{} {}.{} ", info.st_dev, info.st_ino, info.st_size,
                        info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                        info.st_ctim.tv_nsec);
  }
  return text;
}

}  // namespace

Result<std::shared_ptr<Tls>> Tls::open(Files files) {
  std::shared_ptr<Tls> tls(new Tls(std::move(files)));
  TRY(tls->refresh());
  return tls;
}

Result<Tls::Loaded> Tls::load() const {
  std::string stamp = stamp_of(files_);
  const auto chain = TRY(read_chain(files_.certificate));
  const Key key = TRY(read_key(files_.key));
  TRY(check(files_, chain, key.get()));
  Context context = TRY(make_context(chain, key.get()));
  UtcTime end = time_of(::X509_get0_notAfter(chain.front().get()));
  for (const Certificate& one : chain)
    end = std::min(end, time_of(::X509_get0_notAfter(one.get())));
  return Loaded{std::move(context), end, names_of(chain.front().get()), std::move(stamp)};
}

Result<bool> Tls::refresh() {
  const Lock reading(reading_);
  const std::string stamp = stamp_of(files_);
  {
    const Lock lock(mutex_);
    if (loaded_.stamp == stamp) return false;
  }
  Loaded loaded = TRY(load());
  const Lock lock(mutex_);
  loaded_ = std::move(loaded);
  return true;
}

Tls::Context Tls::context() const {
  const Lock lock(mutex_);
  return loaded_.context;
}

UtcTime Tls::not_after() const {
  const Lock lock(mutex_);
  return loaded_.not_after;
}

bool Tls::covers(const std::string& host) const {
  const std::size_t dot = host.find('.');
  const std::string any = dot == std::string::npos ? "" : "*" + host.substr(dot);
  const Lock lock(mutex_);
  return std::ranges::any_of(loaded_.names,
                             [&](const std::string& name) { return name == host || name == any; });
}

std::string Tls::host() const {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(
      loaded_.names, [](const std::string& name) { return !name.starts_with('*'); });
  return found == loaded_.names.end() ? std::string() : *found;
}

}  // namespace corral::http
