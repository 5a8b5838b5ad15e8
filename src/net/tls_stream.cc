#include "net/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace rowsocket::net {

namespace {

/// Room for plain bytes that Decrypt asks for: less than this would cost a call for few bytes.
constexpr size_t kPlainRoomBytes = 1024;
/// Bytes of the records of kCipherBytesMax plain bytes besides these: at most 5 records, each with
/// a header, an initialization vector, padding and an authentication tag.
constexpr size_t kRecordOverheadBytes = 1024;

}  // namespace

/// The BIO whose ends are the buffers of a stream. OpenSSL is C: no exception may pass through it.
struct TlsBio {
  static int Read(BIO* bio, char* to, size_t bytes, size_t* read) {
    base::Buffer& from = Stream(bio).received_;
    BIO_clear_retry_flags(bio);
    *read = std::min(bytes, from.size());
    if (*read == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(to, from.view().data(), *read);
    from.Consume(*read);
    return 1;
  }

  static int Write(BIO* bio, const char* from, size_t bytes, size_t* written) {
    BIO_clear_retry_flags(bio);
    *written = 0;
    try {
      Stream(bio).to_send_.Append({from, bytes});
    } catch (const std::bad_alloc&) {
      return -1;
    }
    *written = bytes;
    return 1;
  }

  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static TlsStream& Stream(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static const BIO_METHOD* Method() {
    struct Free {
      void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    // OpenSSL has few numbers for its users' own types, and never takes one back; a library that is
    // unloaded and loaded again would use them up.
    static const std::unique_ptr<BIO_METHOD, Free> method = [] {
      std::unique_ptr<BIO_METHOD, Free> made(BIO_meth_new(BIO_TYPE_MEM, "rowsocket"));
      if (made == nullptr) return made;
      BIO_meth_set_read_ex(made.get(), Read);
      BIO_meth_set_write_ex(made.get(), Write);
      BIO_meth_set_ctrl(made.get(), Control);
      return made;
    }();
    return method.get();
  }
};

bool IsTcp(int fd) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof(family);
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return true;
  return family != AF_UNIX;
}

std::unique_ptr<TlsStream> TlsStream::Make(const TlsSettings& settings) {
  std::unique_ptr<TlsStream> made(new TlsStream);
  made->ssl_ = settings.context->NewSsl();
  if (made->ssl_ == nullptr || !made->SetUp(settings)) return nullptr;
  return made;
}

bool TlsStream::SetUp(const TlsSettings& settings) {
  ERR_clear_error();
  const BIO_METHOD* const method = TlsBio::Method();
  BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return false;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
  SSL_set_options(ssl_, SSL_OP_NO_RENEGOTIATION);
  SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                         SSL_MODE_RELEASE_BUFFERS);
  // Makes SSL_read_ex return after each KeyUpdate: otherwise one call would go through all of them.
  SSL_clear_mode(ssl_, SSL_MODE_AUTO_RETRY);
  if (settings.needs_client_certificate) {
    SSL_set_verify(ssl_, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                   nullptr);
  }
  const std::string& name = settings.session_context;
  // Anybody who has seen early data can send it again, and it would be executed again.
  return SSL_set_min_proto_version(ssl_, TLS1_2_VERSION) == 1 &&
         SSL_set_max_early_data(ssl_, 0) == 1 && SSL_set_recv_max_early_data(ssl_, 0) == 1 &&
         SSL_set_session_id_context(ssl_, reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<unsigned>(name.size())) == 1;
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

TlsStream::Status TlsStream::Handshake() {
  if (failed_) return Status::kFailed;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  return result == 1 ? Status::kDone : Fail(result);
}

bool TlsStream::has_undecrypted() const { return !received_.empty() || SSL_pending(ssl_) > 0; }

TlsStream::Status TlsStream::Decrypt(base::Buffer& in, size_t in_bytes_max) {
  if (failed_) return Status::kFailed;
  while (in.size() < in_bytes_max) {
    const size_t left = in_bytes_max - in.size();
    char* const room = in.Room(std::min(left, kPlainRoomBytes));
    size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, room, std::min(in.room(), left), &bytes);
    if (result != 1) {
      const Status status = Fail(result);
      // OpenSSL takes all bytes of a record that is not whole yet. If some are left, it has
      // returned from a record without plain bytes.
      if (status != Status::kNeedsInput || received_.empty()) return status;
      if (!CountEmptyRead()) return Status::kFailed;
      continue;
    }
    empty_reads_ -= static_cast<uint32_t>(std::min<size_t>(empty_reads_, bytes));
    in.Commit(bytes);
    // Asking OpenSSL whether there is another record costs a fifth of the time of a record.
    if (!has_undecrypted()) return Status::kNeedsInput;
  }
  return Status::kDone;
}

bool TlsStream::CountEmptyRead() {
  if (++empty_reads_ <= kEmptyReadsMax) return true;
  failed_ = true;
  return false;
}

bool TlsStream::Encrypt(GatedOutput& out) {
  if (failed_) return false;
  constexpr size_t kPlainBytesMax = kCipherBytesMax - kRecordOverheadBytes;
  while (out.sendable_bytes() != 0 && to_send_.size() < kPlainBytesMax) {
    const std::string_view plain = out.sendable().substr(0, kPlainBytesMax - to_send_.size());
    size_t taken = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_, plain.data(), plain.size(), &taken);
    if (result != 1) {
      Fail(result);
      failed_ = true;  // A write always has room, so that a wish to wait is an error, too.
      return false;
    }
    out.Consume(taken);
  }
  return true;
}

void TlsStream::SayEnd() {
  if (has_ended()) return;
  said_end_ = true;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();  // The queue of errors belongs to the thread, and an engine may use OpenSSL on
                      // it, too.
}

TlsStream::Status TlsStream::Fail(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Status::kNeedsInput;
    case SSL_ERROR_ZERO_RETURN:
      return Status::kEnd;
    default:
      failed_ = true;
      error_ = ERR_peek_error();
      // OpenSSL keeps errors for the thread: another connection's call must not find this one.
      ERR_clear_error();
      return Status::kFailed;
  }
}

std::string TlsStream::WhyFailed() const {
  const long verified = SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  if (empty_reads_ > kEmptyReadsMax) return "too many records without content";
  const char* const reason = ERR_reason_error_string(error_);
  return reason != nullptr ? reason : "the client has gone";
}

std::string_view TlsStream::version() const { return SSL_get_version(ssl_); }

std::string_view TlsStream::cipher() const {
  const char* const name = SSL_get_cipher_name(ssl_);
  return name != nullptr ? name : "";
}

std::string TlsStream::peer_subject() const {
  X509* const certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr) return {};
  char* const text = X509_NAME_oneline(X509_get_subject_name(certificate), nullptr, 0);
  if (text == nullptr) return {};
  std::string subject(text);
  OPENSSL_free(text);
  return subject;
}

}  // namespace rowsocket::net
