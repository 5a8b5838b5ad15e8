// libFuzzer target: the TLS of a connection, fed by a client that does anything.
//
// The first byte says how far a real handshake goes before the input begins: not at all, up to the
// client's last flight, or to its end, and by which version. Then each byte is a step: bytes as
// they are, plain bytes that the client encrypts, a record with a bit turned over, key updates, the
// end, replies in front of the gate and behind it, and limits of the input.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "net/test_tls.h"
#include "net/tls_stream.h"

namespace rowsocket::net {
namespace {

using Status = TlsStream::Status;

class Fuzz {
 public:
  Fuzz(uint8_t start, TestTlsContext& context)
      : client_((start & 1) != 0 ? TLS1_2_VERSION : TLS1_3_VERSION) {
    TlsSettings settings = TestTlsSettings(context);
    settings.needs_client_certificate = (start & 2) != 0;
    stream_ = TlsStream::Make(settings);
    Must(stream_ != nullptr);
    if ((start & 12) == 0) return;
    for (int i = 0; i < 4 && !is_done_; ++i) {
      client_.Handshake();
      stream_->received().Append(client_.Take());
      if ((start & 12) == 4 && i == 1) return;  // the last flight is there, and was not looked at
      Handshake();
      Carry();
    }
    client_.Handshake();
  }

  void Play(std::string_view input) {
    while (!input.empty() && !failed_) {
      const uint8_t step = static_cast<uint8_t>(input.front());
      input.remove_prefix(1);
      const size_t count = std::min<size_t>(step >> 3, input.size());
      const std::string_view bytes = input.substr(0, count);
      input.remove_prefix(count);
      Do(step & 7, bytes);
      Advance(step);
    }
  }

 private:
  void Do(unsigned kind, std::string_view bytes) {
    const bool can_encrypt = is_done_ && SSL_is_init_finished(client_.ssl()) == 1;
    switch (kind) {
      case 0:
        stream_->received().Append(bytes);
        is_honest_ = is_honest_ && bytes.empty();
        break;
      case 1:
        if (can_encrypt && !bytes.empty() && !has_ended_) {
          stream_->received().Append(client_.Encrypt(bytes));
          sent_ += bytes;
        }
        break;
      case 2:
        if (can_encrypt && !bytes.empty() && !has_ended_) {
          std::string record = client_.Encrypt(bytes);
          record[static_cast<uint8_t>(bytes[0]) % record.size()] ^= 4;
          stream_->received().Append(record);
          is_honest_ = false;
        }
        break;
      case 3:
        if (can_encrypt && !has_ended_ && SSL_version(client_.ssl()) == TLS1_3_VERSION) {
          SSL_key_update(client_.ssl(), SSL_KEY_UPDATE_REQUESTED);
        }
        break;
      case 4:
        if (can_encrypt) stream_->received().Append(client_.SayEnd());
        has_ended_ = true;
        break;
      case 5:
        out_.bytes().Append(bytes);
        out_.ReleaseToGate();
        break;
      case 6:
        out_.HoldGate();
        out_.bytes().Append(bytes);
        break;
      default:
        out_.OpenGate();
        stream_->SayEnd();
        has_ended_ = true;
        break;
    }
  }

  void Advance(uint8_t step) {
    if (!is_done_) return Handshake();
    const size_t in_bytes_max = 1 + step * 16;
    if (in_.size() < in_bytes_max) {
      const Status status = stream_->Decrypt(in_, in_bytes_max);
      failed_ = status == Status::kFailed;
      Must(in_.size() <= in_bytes_max);
      if (status == Status::kNeedsInput) Must(!stream_->has_undecrypted());
    }
    if (is_honest_) Must(sent_.compare(0, in_.size(), in_.view()) == 0);
    sent_.erase(0, in_.size());
    in_.Consume(in_.size());
    if (failed_ || has_ended_) return;
    const size_t held = out_.unsent_bytes() - out_.sendable_bytes();
    failed_ = !stream_->Encrypt(out_);
    if (failed_) return;
    Must(out_.unsent_bytes() == held);
    Must(stream_->to_send().size() <= 2 * TlsStream::kCipherBytesMax);
    Carry();
    client_.Read();
  }

  void Handshake() {
    const Status status = stream_->Handshake();
    is_done_ = status == Status::kDone;
    failed_ = status == Status::kFailed || status == Status::kEnd;
    if (failed_) (void)stream_->WhyFailed();
  }

  void Carry() {
    client_.Give(stream_->to_send().view());
    stream_->to_send().Consume(stream_->to_send().size());
  }

  TestTlsClient client_;
  std::unique_ptr<TlsStream> stream_;
  base::Buffer in_;
  GatedOutput out_;
  std::string sent_;  // plain bytes that the client has sent, and the stream not given yet
  bool is_done_ = false;
  bool failed_ = false;
  bool has_ended_ = false;
  bool is_honest_ = true;  // all records are the client's own
};

}  // namespace
}  // namespace rowsocket::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowsocket::net;
  static TestTlsContext context;
  if (size < 2) return 0;
  Fuzz(data[0], context).Play({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
