#include "frontend/resp/watch.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "frontend/resp/fields.h"
#include "frontend/resp/store.h"
#include "frontend/resp/string_change.h"
#include "frontend/resp/string_row.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::ErrorCode;

namespace {

/// Makes the digest of a row's cells, one after another in a form that differs for different rows.
/// The cells are not kept, because a row may be larger than any reply.
class RowDigest final : public model::RowSink {
 public:
  explicit RowDigest(const RespCall& call)
      : call_(call), expiry_at_(ExpiryColumnAt(call)), context_(EVP_MD_CTX_new()) {
    is_right_ =
        context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
    if (call.is_string) string_.emplace(call, value_);
  }
  bool Cell(std::string_view text) override {
    bytes_read_ += text.size();
    if (at_++ == expiry_at_) is_expired_ = IsExpired(call_, model::Value(text));
    Add(std::to_string(text.size()) + ":");
    Add(text);
    return !string_ || string_->Cell(text);
  }
  bool NullCell() override {
    ++at_;
    Add("-");
    return !string_ || string_->NullCell();
  }
  /// Ends the digest after the last cell. False: it cannot be made.
  bool Finish(std::array<unsigned char, 32>* digest) {
    return is_right_ && EVP_DigestFinal_ex(context_.get(), digest->data(), nullptr) == 1;
  }
  size_t bytes_read() const { return bytes_read_; }
  /// Whether there is a row that has not expired.
  bool is_there() const { return !is_expired_ && (!string_ || string_->is_there()); }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  void Add(std::string_view bytes) {
    is_right_ = is_right_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }

  const RespCall& call_;
  const size_t expiry_at_;
  const std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool is_right_ = false;
  size_t at_ = 0;
  size_t bytes_read_ = 0;
  bool is_expired_ = false;
  base::Buffer value_;
  std::optional<RespStringRow> string_;
};

/// The empty name and PRIMARY both name the primary key.
std::string_view IndexOf(const RespCall& call) {
  return call.key.index == "PRIMARY" ? std::string_view() : call.key.index;
}

bool SameKey(const RespCall& a, const RespCall& b) {
  return a.is_string == b.is_string && a.key.db == b.key.db && a.key.table == b.key.table &&
         IndexOf(a) == IndexOf(b) &&
         std::equal(
             a.key.parts.begin(), a.key.parts.end(), b.key.parts.begin(), b.key.parts.end(),
             [](const model::Value& x, const model::Value& y) { return x.text() == y.text(); });
}

/// Whether the write makes a row if it meets none. COPY counts as such a write, because later
/// writes meet the row that it has made.
bool MakesRow(const RespCall& call) {
  const model::Request& request = call.request;
  if (request.verb != model::Request::Verb::kEdit || !request.edit.may_insert) return false;
  if (call.verb == RespVerb::kSetRange && call.arguments[3].empty()) return false;
  if (call.script == RespScript::kCompareNumberAndSet)
    return IsZero(call.string_command->lock_token);
  return call.string_command == nullptr || !call.string_command->only_if_there;
}

}  // namespace

Outcome ExecuteWatch(RespWork& work, const RespCall& call, bool may_be_there,
                     engine::Session& session, base::Buffer& out) {
  RespImage image;
  image.is_known = true;
  Outcome outcome;
  if (call.verb == RespVerb::kWatch) *call.watch.image = {};
  if (may_be_there) {
    RowDigest row(call);
    outcome = session.Execute(*call.index, call.request, row);
    if (!outcome.ok()) return outcome;
    work.bytes_read += row.bytes_read();
    image.is_there = outcome.rows != 0 && row.is_there();
    if (image.is_there && !row.Finish(&image.digest)) return Outcome::Fail(ErrorCode::kInternal);
  }
  if (call.verb == RespVerb::kWatch) {
    *call.watch.image = image;
    if (call.is_last) resp::AppendSimple("OK", &out);
    return outcome;
  }
  outcome.rows = image == *call.watch.image ? 1 : 0;
  return outcome;
}

bool HasFailedWatch(std::span<const RespCall> calls) {
  return std::any_of(calls.begin(), calls.end(), [](const RespCall& call) {
    return call.verb == RespVerb::kCheckWatch && !call.watch.image->is_known;
  });
}

void MarkAbsent(std::span<RespCall> calls) {
  for (const RespCall& watched : calls) {
    const bool may_be_absent = watched.verb == RespVerb::kCheckWatch &&
                               !(watched.watch.image->is_known && watched.watch.image->is_there);
    if (!may_be_absent) continue;
    for (RespCall& call : calls) {
      const bool is_write_of_it =
          call.known_reply.empty() && call.request.is_write() && SameKey(call, watched);
      if (!is_write_of_it) continue;
      call.watch.absent = watched.watch.image;
      if (MakesRow(call)) break;  // The unit holds the row's lock from here on.
    }
  }
}

}  // namespace rowsocket::frontend
