#include "bench/memcached.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/decrement.h"
#include "bench/lines.h"

namespace rowsocket::bench {
namespace {

constexpr char kSeparator = '|';
constexpr std::string_view kCrLf = "\r\n";

enum Kind : uint8_t { kGet, kSet };

Checked Wrong(const CrLfLine& line) {
  const bool is_error = line.text.starts_with("SERVER_ERROR") ||
                        line.text.starts_with("CLIENT_ERROR") || line.text == "ERROR";
  return {line.bytes, is_error ? Verdict::kError : Verdict::kMismatch, 0, 0, false, line.text};
}

/// mc-get and mc-multiget: the reply must have every key, in the order of the request.
class Get : public Workload {
 public:
  Get(const Options& options, uint64_t seed, size_t count, bool may_be_set)
      : options_(options),
        chooser_(options.keys, options.rows, seed),
        count_(count),
        may_be_set_(may_be_set),
        expected_(std::max(JoinedBytesMax(options.values), options.key.MaxBytes() + 16)) {}

  Checked CheckHello(std::string_view, size_t) override { return {}; }
  size_t RequestBytesMax() const override { return 8 + count_ * (options_.key.MaxBytes() + 1); }
  size_t KeysPerRequest() const override { return count_; }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    at = WriteText(at, "get");
    for (size_t i = 0; i < count_; ++i) {
      keys[i] = chooser_.Next();
      *at++ = ' ';
      at = options_.key.Write(at, keys[i], 0);
    }
    sent->key = keys[0];
    sent->kind = kGet;
    return WriteText(at, kCrLf);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t* keys) override {
    size_t at = 0;
    bool right = true;
    CrLfLine line;
    for (size_t found = 0;;) {
      line = FirstCrLfLine(received.substr(at));
      if (line.bytes == 0) return {};
      if (!line.text.starts_with("VALUE ")) {
        right = right && found == count_;
        break;
      }
      const size_t value_bytes = CheckValue(received.substr(at + line.bytes), line.text,
                                            keys[std::min(found, count_ - 1)], &right);
      if (value_bytes == 0) return {};
      right = right && found < count_;
      ++found;
      at += line.bytes + value_bytes;
    }
    if (line.text != "END" || !right) {
      Checked wrong = Wrong(line);
      wrong.bytes += at;
      if (wrong.verdict == Verdict::kMismatch) wrong.text = received.substr(0, wrong.bytes);
      return wrong;
    }
    return {at + line.bytes, Verdict::kRight, static_cast<uint32_t>(count_), 0, false, {}};
  }

 private:
  // `line` is `VALUE key flags bytes [token]`. Returns the bytes of the data block; 0: the block is
  // not complete.
  size_t CheckValue(std::string_view after_line, std::string_view line, uint64_t key, bool* right) {
    TakeWord(&line);
    char* end = options_.key.Write(expected_.data(), key, 0);
    const std::string_view key_text(expected_.data(), static_cast<size_t>(end - expected_.data()));
    if (TakeWord(&line) != key_text) *right = false;
    TakeWord(&line);
    size_t bytes = 0;
    if (!ParseWholeNumber(TakeWord(&line), &bytes)) *right = false;
    if (after_line.size() < bytes + kCrLf.size()) return 0;
    const std::string_view data = after_line.substr(0, bytes);
    const uint64_t row = options_.ExpectedRow(key);
    end = WriteJoined(options_.values, kSeparator, expected_.data(), row, 0);
    const std::string_view expected(expected_.data(), static_cast<size_t>(end - expected_.data()));
    const bool equal =
        data == expected || (may_be_set_ && MatchesJoined(options_.set, kSeparator, data, row));
    if (!equal || after_line.substr(bytes, kCrLf.size()) != kCrLf) *right = false;
    return bytes + kCrLf.size();
  }

  const Options& options_;
  KeyChooser chooser_;
  const size_t count_;
  const bool may_be_set_;
  std::vector<char> expected_;
};

/// mc-set stores --set under random keys; mc-fill stores --values under one key after the other.
class Set : public Workload {
 public:
  Set(const Options& options, Shared* shared, uint64_t seed, bool fill)
      : options_(options),
        shared_(shared),
        chooser_(options.keys, options.rows, seed),
        fill_(fill),
        value_(JoinedBytesMax(fill ? options.values : options.set)) {}

  Checked CheckHello(std::string_view, size_t) override { return {}; }
  size_t RequestBytesMax() const override { return 40 + options_.key.MaxBytes() + value_.size(); }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = fill_ ? NextToFill(options_, shared_) : chooser_.Next();
    sent->key = keys[0];
    sent->kind = kSet;
    const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
    const char* end = WriteJoined(fill_ ? options_.values : options_.set, kSeparator, value_.data(),
                                  keys[0], serial);
    const std::string_view value(value_.data(), static_cast<size_t>(end - value_.data()));
    at = WriteText(at, "set ");
    at = options_.key.Write(at, keys[0], 0);
    at = WriteText(at, " 0 0 ");
    at = WriteNumber(at, value.size());
    at = WriteText(at, kCrLf);
    at = WriteText(at, value);
    return WriteText(at, kCrLf);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    if (line.text != "STORED") return Wrong(line);
    return {line.bytes, Verdict::kRight, 1, 0, false, {}};
  }

 private:
  const Options& options_;
  Shared* shared_;
  KeyChooser chooser_;
  const bool fill_;
  std::vector<char> value_;
};

class Mixed : public Workload {
 public:
  Mixed(const Options& options, Shared* shared, uint64_t seed)
      : options_(options),
        random_(seed + 1),
        get_(options, seed, 1, true),
        set_(options, shared, seed + 2, false) {}

  Checked CheckHello(std::string_view, size_t) override { return {}; }
  size_t RequestBytesMax() const override {
    return std::max(get_.RequestBytesMax(), set_.RequestBytesMax());
  }
  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    return random_.Unit() * 100 < options_.read_percent ? get_.Build(at, sent, keys)
                                                        : set_.Build(at, sent, keys);
  }
  Checked Check(std::string_view received, const Sent& sent, const uint64_t* keys) override {
    return sent.kind == kGet ? get_.Check(received, sent, keys) : set_.Check(received, sent, keys);
  }

 private:
  const Options& options_;
  Random random_;
  Get get_;
  Set set_;
};

/// mc-binary-get: a header of 24 bytes, then extras, key and value.
class BinaryGet : public Workload {
 public:
  BinaryGet(const Options& options, uint64_t seed)
      : options_(options),
        chooser_(options.keys, options.rows, seed),
        expected_(JoinedBytesMax(options.values)) {}

  Checked CheckHello(std::string_view, size_t) override { return {}; }
  size_t RequestBytesMax() const override { return kHeaderBytes + options_.key.MaxBytes(); }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = chooser_.Next();
    sent->key = keys[0];
    sent->kind = kGet;
    char* end = options_.key.Write(at + kHeaderBytes, keys[0], 0);
    const auto key_bytes = static_cast<size_t>(end - at) - kHeaderBytes;
    memset(at, 0, kHeaderBytes);
    at[0] = static_cast<char>(kRequestMagic);
    at[2] = static_cast<char>(key_bytes >> 8);
    at[3] = static_cast<char>(key_bytes);
    memcpy(at + kBodyBytesAt + 2, at + 2, 2);
    return end;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t* keys) override {
    if (received.size() < kHeaderBytes) return {};
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(received[at]); };
    const size_t body_bytes = size_t{byte(8)} << 24 | byte(9) << 16 | byte(10) << 8 | byte(11);
    const size_t bytes = kHeaderBytes + body_bytes;
    if (received.size() < bytes) return {};
    const Checked wrong = {bytes, Verdict::kMismatch, 0, 0, false, received.substr(0, bytes)};
    if (byte(0) != kReplyMagic) return wrong;
    const std::string_view body = received.substr(kHeaderBytes, body_bytes);
    if ((byte(6) | byte(7)) != 0) return {bytes, Verdict::kError, 0, 0, false, body};
    const size_t head_bytes = (size_t{byte(2)} << 8) + byte(3) + byte(4);
    const char* end = WriteJoined(options_.values, kSeparator, expected_.data(),
                                  options_.ExpectedRow(keys[0]), 0);
    const std::string_view expected(expected_.data(), static_cast<size_t>(end - expected_.data()));
    if (head_bytes > body.size() || body.substr(head_bytes) != expected) return wrong;
    return {bytes, Verdict::kRight, 1, 0, false, {}};
  }

 private:
  static constexpr size_t kHeaderBytes = 24;
  static constexpr size_t kBodyBytesAt = 8;
  static constexpr unsigned char kRequestMagic = 0x80;
  static constexpr unsigned char kReplyMagic = 0x81;

  const Options& options_;
  KeyChooser chooser_;
  std::vector<char> expected_;
};

/// `ma KEY FLAGS`: the reply is HD or VA when the change took place, NS when its guard did not
/// hold.
class Arithmetic : public Workload {
 public:
  Arithmetic(const Options& options, uint64_t seed)
      : options_(options), random_(seed), suffix_(" " + options.ma_flags + "\r\n") {}

  Checked CheckHello(std::string_view, size_t) override { return {}; }
  size_t RequestBytesMax() const override { return 3 + options_.key.MaxBytes() + suffix_.size(); }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = ChooseDecremented(options_, &random_);
    sent->key = keys[0];
    sent->kind = kSet;
    at = WriteText(at, "ma ");
    at = options_.key.Write(at, keys[0], 0);
    return WriteText(at, suffix_);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    std::string_view rest = line.text;
    const std::string_view code = TakeWord(&rest);
    if (code == "HD") return {line.bytes, Verdict::kApplied, 1, 0, false, {}};
    if (code == "NS") return {line.bytes, Verdict::kNotApplied, 1, 0, false, {}};
    size_t bytes = 0;
    if (code != "VA" || !ParseWholeNumber(TakeWord(&rest), &bytes)) return Wrong(line);
    if (received.size() < line.bytes + bytes + kCrLf.size()) return {};
    Checked checked = {line.bytes + bytes + kCrLf.size(), Verdict::kApplied, 1, 0, true, {}};
    uint64_t after = 0;
    if (!ParseWholeNumber(received.substr(line.bytes, bytes), &after)) {
      return {checked.bytes, Verdict::kMismatch, 0, 0, false, received.substr(0, checked.bytes)};
    }
    checked.before = after + 1;
    return checked;
  }

 private:
  const Options& options_;
  Random random_;
  const std::string suffix_;
};

}  // namespace

std::unique_ptr<Workload> MakeMemcached(const Options& options, Shared* shared, uint64_t seed) {
  const std::string& name = options.workload;
  if (name == "mc-set") return std::make_unique<Set>(options, shared, seed, false);
  if (name == "mc-fill") return std::make_unique<Set>(options, shared, seed, true);
  if (name == "mc-mixed") return std::make_unique<Mixed>(options, shared, seed);
  if (name == "mc-ma") return std::make_unique<Arithmetic>(options, seed);
  if (name == "mc-binary-get") return std::make_unique<BinaryGet>(options, seed);
  return std::make_unique<Get>(options, seed, name == "mc-multiget" ? options.batch : 1, false);
}

}  // namespace rowsocket::bench
