// Tls: the certificate and key by which a server speaks HTTPS.
//
// The files are PEM: the server's certificate first, then those of the authorities between it and
// the root; the key without a passphrase. TLS 1.2 and 1.3, with forward secrecy only; HTTP/1.1 by
// ALPN. Thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace corral::http {

class Tls {
 public:
  using Context = std::shared_ptr<ssl_ctx_st>;
  struct Files {
    std::filesystem::path certificate;
    std::filesystem::path key;
  };

  // kInvalidArgument, with what to do: a file is no PEM, the key is another certificate's or asks
  // for a passphrase, the chain is in the wrong order, or the dates do not fit. kPermission: every
  // user of this machine may read the key.
  static Result<std::shared_ptr<Tls>> open(Files files);
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Reads the files again if they are not those of the certificate in use; true: new connections
  // get the new certificate. After an error the old one stays. May wait for a slow disk, during
  // which connections do not.
  Result<bool> refresh();

  // Connections keep the one that they began with.
  [[nodiscard]] Context context() const;
  [[nodiscard]] UtcTime not_after() const;
  // Returns true if the certificate is for this host, a name or an address in lower case.
  [[nodiscard]] bool covers(const std::string& host) const;
  // A host that the certificate is for, rather a name than an address; empty: only wildcards.
  [[nodiscard]] std::string host() const;

 private:
  struct Loaded {
    Context context;
    UtcTime not_after;
    std::vector<std::string> names;  // lower case; host names first, then addresses
    std::string stamp;               // identity, size and times of both files
  };
  explicit Tls(Files files) : files_(std::move(files)) {}
  [[nodiscard]] Result<Loaded> load() const;

  // Constant after construction.
  const Files files_;

  Mutex reading_;  // held while the files are read; before mutex_
  mutable Mutex mutex_;
  Loaded loaded_ GUARDED_BY(mutex_);
};

}  // namespace corral::http
