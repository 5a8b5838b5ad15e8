#include "frontend/resp/watch.h"

#include <openssl/evp.h>

#include <algorithm>
#include <optional>
#include <string>

#include "frontend/resp/fields.h"
#include "frontend/resp/store.h"
#include "frontend/resp/string_row.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::ErrorCode;

namespace {

/// The cells of a row as one text, in which no two rows look the same.
class RowText final : public model::RowSink {
 public:
  explicit RowText(const RespCall& call) : call_(call), expiry_at_(ExpiryColumnAt(call)) {
    if (call.is_string) string_.emplace(call, value_);
  }
  bool Cell(std::string_view text) override {
    if (at_++ == expiry_at_) is_expired_ = IsExpired(call_, model::Value(text));
    text_.append(std::to_string(text.size())).append(1, ':').append(text);
    return !string_ || string_->Cell(text);
  }
  bool NullCell() override {
    ++at_;
    text_.append(1, '-');
    return !string_ || string_->NullCell();
  }
  const std::string& text() const { return text_; }
  /// A row may have expired.
  bool is_there() const { return !is_expired_ && (!string_ || string_->is_there()); }

 private:
  const RespCall& call_;
  const size_t expiry_at_;
  size_t at_ = 0;
  bool is_expired_ = false;
  std::string text_;
  base::Buffer value_;
  std::optional<RespStringRow> string_;
};

bool SameKey(const RespCall& a, const RespCall& b) {
  return a.is_string == b.is_string && a.key.db == b.key.db && a.key.table == b.key.table &&
         a.key.index == b.key.index &&
         std::equal(
             a.key.parts.begin(), a.key.parts.end(), b.key.parts.begin(), b.key.parts.end(),
             [](const model::Value& x, const model::Value& y) { return x.text() == y.text(); });
}

}  // namespace

Outcome ExecuteWatch(const RespCall& call, bool may_be_there, engine::Session& session,
                     base::Buffer& out) {
  RespImage image;
  image.is_known = true;
  Outcome outcome;
  if (call.verb == RespVerb::kWatch) {
    *call.image = {};
  } else if (!call.image->is_known) {
    outcome.rows = 1;
    return outcome;
  }
  if (may_be_there) {
    RowText row(call);
    outcome = session.Execute(*call.index, call.request, row);
    if (!outcome.ok()) return outcome;
    image.is_there = outcome.rows != 0 && row.is_there();
    const std::string& text = row.text();
    unsigned size = 0;
    const bool has_digest =
        !image.is_there || EVP_Digest(text.data(), text.size(), image.digest.data(), &size,
                                      EVP_sha256(), nullptr) == 1;
    if (!has_digest) return Outcome::Fail(ErrorCode::kInternal);
  }
  if (call.verb == RespVerb::kWatch) {
    *call.image = image;
    if (call.is_last) resp::AppendSimple("OK", &out);
    return outcome;
  }
  outcome.rows = image == *call.image ? 1 : 0;
  return outcome;
}

void MarkAbsent(std::span<RespCall> calls) {
  for (const RespCall& watched : calls) {
    const bool may_be_absent =
        watched.verb == RespVerb::kWatched && !(watched.image->is_known && watched.image->is_there);
    if (!may_be_absent) continue;
    const auto write = std::find_if(calls.begin(), calls.end(), [&](const RespCall& call) {
      return call.known_reply.empty() && call.request.is_write() && SameKey(call, watched);
    });
    if (write != calls.end()) write->absent = watched.image;
  }
}

}  // namespace rowsocket::frontend
