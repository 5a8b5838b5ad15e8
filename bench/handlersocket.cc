#include "bench/handlersocket.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "bench/decrement.h"

namespace rowsocket::bench {
namespace {

// Index ids on each connection: one for finds, one for each kind of change.
constexpr char kFindId = '0';
constexpr char kChangeId = '1';

enum Kind : uint8_t { kFind, kChange };

/// A line without its LF; 0 bytes: the line is not complete.
struct Line {
  std::string_view text;
  size_t bytes = 0;
};

Line FirstLine(std::string_view received) {
  if (received.empty()) return {};
  const auto* end = static_cast<const char*>(memchr(received.data(), '\n', received.size()));
  if (end == nullptr) return {};
  const auto length = static_cast<size_t>(end - received.data());
  return {received.substr(0, length), length + 1};
}

Checked Refused(const Line& line) {
  const bool is_error = line.text.size() > 2 && line.text[0] >= '1' && line.text[0] <= '9';
  return {line.bytes, is_error ? Verdict::kError : Verdict::kMismatch, 0, 0, false, line.text};
}

Checked Equal(const Line& line, std::string_view expected, uint32_t rows,
              Verdict verdict = Verdict::kRight) {
  if (line.text == expected) return {line.bytes, verdict, rows, 0, false, {}};
  return Refused(line);
}

std::string Join(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

/// The common part of these workloads: the hello and its replies.
class Base : public Workload {
 public:
  Base(const Options& options, Shared* shared, uint64_t seed)
      : options_(options), shared_(shared), chooser_(options.keys, options.rows, seed) {}

  Hello MakeHello() override {
    Hello hello;
    if (!options_.auth.empty()) Append("A\t1\t" + options_.auth, &hello);
    AppendOpens(&hello);
    return hello;
  }

  Checked CheckHello(std::string_view received, size_t) override {
    const Line line = FirstLine(received);
    return line.bytes == 0 ? Checked() : Equal(line, "0\t1", 0);
  }

 protected:
  virtual void AppendOpens(Hello* hello) const = 0;

  static void Append(const std::string& line, Hello* hello) {
    hello->bytes += line + "\n";
    ++hello->replies;
  }
  void AppendOpen(char id, const std::string& index, const std::string& columns,
                  const std::string& filters, Hello* hello) const {
    std::string line = std::string("P\t") + id + "\t" + options_.db + "\t" + options_.table + "\t" +
                       index + "\t" + columns;
    if (!filters.empty()) line += "\t" + filters;
    Append(line, hello);
  }

  const Options& options_;
  Shared* shared_;
  KeyChooser chooser_;
};

enum class FindKind : uint8_t { kOne, kIn, kRange, kGroup };

/// hs-get, hs-secondary, hs-in, hs-range, hs-find-group: rows whose content is known.
class Find : public Base {
 public:
  Find(const Options& options, Shared* shared, uint64_t seed, FindKind kind)
      : Base(options, shared, seed), kind_(kind), count_(Count(options, kind)) {
    const std::string n = std::to_string(count_);
    if (kind_ == FindKind::kOne) prefix_ = std::string(1, kFindId) + "\t=\t1\t";
    if (kind_ == FindKind::kIn) {
      prefix_ = std::string(1, kFindId) + "\t=\t1\t\t" + n + "\t0\t@\t0\t" + n;
    }
    if (kind_ == FindKind::kRange) {
      prefix_ = std::string(1, kFindId) + "\t>=\t1\t";
      suffix_ = "\t" + n + "\t0";
    }
    if (kind_ == FindKind::kGroup) prefix_ = "G\t" + n;
    head_ = "0\t" + std::to_string(options.columns.size());
    expected_.resize(head_.size() + count_ * (JoinedBytesMax(options.values) + 1));
  }

  size_t RequestBytesMax() const override {
    return prefix_.size() + suffix_.size() + 1 +
           KeysPerRequest() * (options_.key.MaxBytes() + kGroupLine.size());
  }
  size_t KeysPerRequest() const override {
    return kind_ == FindKind::kIn || is_group() ? count_ : 1;
  }
  size_t LinesPerReply() const override { return is_group() ? 1 + count_ : 1; }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    at = WriteText(at, prefix_);
    for (size_t i = 0; i < KeysPerRequest(); ++i) {
      keys[i] = chooser_.Next();
      if (kind_ == FindKind::kIn) *at++ = '\t';
      if (is_group()) at = WriteText(at, kGroupLine);
      if (kind_ == FindKind::kRange) keys[i] = std::min(keys[i], options_.rows - count_ + 1);
      at = options_.key.Write(at, keys[i], 0);
    }
    sent->key = keys[0];
    sent->kind = kFind;
    at = WriteText(at, suffix_);
    *at++ = '\n';
    return at;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t* keys) override {
    if (is_group()) return CheckGroup(received, keys);
    const Line line = FirstLine(received);
    if (line.bytes == 0) return {};
    char* end = WriteText(expected_.data(), head_);
    for (size_t i = 0; i < count_; ++i) {
      end = WriteRow(end, kind_ == FindKind::kRange ? keys[0] + i : keys[i]);
    }
    const std::string_view expected(expected_.data(), static_cast<size_t>(end - expected_.data()));
    return Equal(line, expected, static_cast<uint32_t>(count_));
  }

 private:
  /// A required find in a group; its key follows.
  static constexpr std::string_view kGroupLine = "\nR\t0\t=\t1\t";
  static_assert(kGroupLine[3] == kFindId);

  bool is_group() const { return kind_ == FindKind::kGroup; }
  static size_t Count(const Options& options, FindKind kind) {
    if (kind == FindKind::kOne) return 1;
    return kind == FindKind::kRange ? options.limit : options.batch;
  }

  char* WriteRow(char* at, uint64_t key) const {
    if (options_.values.empty()) return at;
    *at++ = '\t';
    return WriteJoined(options_.values, '\t', at, options_.ExpectedRow(key), 0);
  }

  // The reply is complete when its last line is.
  Checked CheckGroup(std::string_view received, const uint64_t* keys) {
    Line line = FirstLine(received);
    Checked checked = line.bytes == 0 ? Checked() : Equal(line, "0\t2\t1\t0", 0);
    for (size_t i = 0; i < count_; ++i) {
      const size_t begin = checked.bytes;
      line = FirstLine(received.substr(begin));
      if (line.bytes == 0) return {};
      char* const end = WriteRow(WriteText(expected_.data(), head_), keys[i]);
      const std::string_view row(expected_.data(), static_cast<size_t>(end - expected_.data()));
      const Checked one = Equal(line, row, 1);
      const bool was_right = checked.verdict == Verdict::kRight;
      if (was_right) checked = one;
      checked.bytes = begin + line.bytes;
    }
    checked.rows = checked.verdict == Verdict::kRight ? static_cast<uint32_t>(count_) : 0;
    return checked;
  }
  void AppendOpens(Hello* hello) const override {
    AppendOpen(kFindId, options_.index, Join(options_.columns), "", hello);
  }

  const FindKind kind_;
  const size_t count_;
  std::string prefix_;
  std::string suffix_;
  std::string head_;
  std::vector<char> expected_;
};

class Update : public Base {
 public:
  using Base::Base;

  size_t RequestBytesMax() const override {
    return 24 + options_.key.MaxBytes() + JoinedBytesMax(options_.set);
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = chooser_.Next();
    sent->key = keys[0];
    sent->kind = kChange;
    *at++ = kChangeId;
    at = WriteText(at, "\t=\t1\t");
    at = options_.key.Write(at, keys[0], 0);
    at = WriteText(at, "\t1\t0\tU\t");
    at = WriteJoined(options_.set, '\t', at, keys[0],
                     shared_->next_serial.fetch_add(1, std::memory_order_relaxed));
    *at++ = '\n';
    return at;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const Line line = FirstLine(received);
    return line.bytes == 0 ? Checked() : Equal(line, "0\t1\t1", 1);
  }

 private:
  void AppendOpens(Hello* hello) const override {
    AppendOpen(kChangeId, options_.index, Join(options_.update_columns), "", hello);
  }
};

class Insert : public Base {
 public:
  using Base::Base;

  size_t RequestBytesMax() const override {
    return 64 + options_.key.MaxBytes() + JoinedBytesMax(options_.values);
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = shared_->next_insert_id.fetch_add(1, std::memory_order_relaxed);
    sent->key = keys[0];
    sent->kind = kChange;
    *at++ = kChangeId;
    at = WriteText(at, "\t+\t");
    at = WriteNumber(at, options_.values.size() + 1);
    *at++ = '\t';
    at = options_.key.Write(at, keys[0], 0);
    if (!options_.values.empty()) *at++ = '\t';
    at = WriteJoined(options_.values, '\t', at, keys[0], 0);
    *at++ = '\n';
    return at;
  }

  // A table with AUTO_INCREMENT adds a third word to the reply, the generated id.
  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const Line line = FirstLine(received);
    if (line.bytes == 0) return {};
    constexpr std::string_view kDone = "0\t1";
    const std::string_view rest = line.text.substr(std::min(kDone.size(), line.text.size()));
    const bool has_id = line.text.starts_with(kDone) && rest.size() > 1 && rest[0] == '\t';
    return Equal({has_id ? kDone : line.text, line.bytes}, kDone, 1);
  }

 private:
  void AppendOpens(Hello* hello) const override {
    std::vector<std::string> columns = {options_.key_column};
    columns.insert(columns.end(), options_.columns.begin(), options_.columns.end());
    AppendOpen(kChangeId, options_.index, Join(columns), "", hello);
  }
};

/// `1 = 1 KEY 1 0 F > 0 GUARD - 1`: UPDATE ... SET stock = stock - 1 WHERE stock > GUARD.
class Decrement : public Base {
 public:
  Decrement(const Options& options, Shared* shared, uint64_t seed) : Base(options, shared, seed) {
    suffix_ = "\t1\t0\tF\t>\t0\t" + std::to_string(options.guard) +
              (options.before_images ? "\t-?\t1\n" : "\t-\t1\n");
  }

  size_t RequestBytesMax() const override { return 8 + options_.key.MaxBytes() + suffix_.size(); }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = ChooseDecremented(options_, chooser_.random());
    sent->key = keys[0];
    sent->kind = kChange;
    *at++ = kChangeId;
    at = WriteText(at, "\t=\t1\t");
    at = options_.key.Write(at, keys[0], 0);
    return WriteText(at, suffix_);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const Line line = FirstLine(received);
    if (line.bytes == 0) return {};
    if (options_.before_images) return CheckBefore(line);
    if (line.text == "0\t1\t0") return {line.bytes, Verdict::kNotApplied, 1, 0, false, {}};
    return Equal(line, "0\t1\t1", 1, Verdict::kApplied);
  }

 private:
  Checked CheckBefore(const Line& line) const {
    constexpr std::string_view kFound = "0\t1\t";
    if (line.text == "0\t1") return {line.bytes, Verdict::kNotApplied, 1, 0, false, {}};
    if (!line.text.starts_with(kFound)) return Refused(line);
    const std::string_view number = line.text.substr(kFound.size());
    Checked checked = {line.bytes, Verdict::kApplied, 1, 0, true, {}};
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), checked.before);
    if (error != std::errc() || end != number.data() + number.size() ||
        checked.before <= options_.guard) {
      return {line.bytes, Verdict::kMismatch, 0, 0, false, line.text};
    }
    return checked;
  }
  void AppendOpens(Hello* hello) const override {
    AppendOpen(kChangeId, options_.index, options_.stock_column, options_.stock_column, hello);
  }

  std::string suffix_;
};

/// Takes one from a row and writes an order, in a group of two requests; --with-tokens puts a token
/// before it. Serials make tokens: they are new as long as the table of tokens is emptied before a
/// run.
class Purchase : public Base {
 public:
  Purchase(const Options& options, Shared* shared, uint64_t seed) : Base(options, shared, seed) {
    middle_ = std::string("\t1\t0\tF\t>\t0\t") + std::to_string(options.guard) + "\t-\t1\nR\t" +
              kOrdersId + "\t+\t3\t";
  }

  size_t RequestBytesMax() const override {
    return 128 + 2 * options_.key.MaxBytes() + middle_.size();
  }

  size_t LinesPerReply() const override { return kLines; }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = ChooseDecremented(options_, chooser_.random());
    sent->key = keys[0];
    sent->kind = kChange;
    const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
    if (options_.with_tokens) {
      at = WriteText(at, "T\tp");
      at = WriteNumber(at, serial);
      *at++ = '\t';
    }
    at = WriteText(at, "G\t2\nR\t");
    *at++ = kChangeId;
    at = WriteText(at, "\t=\t1\t");
    at = options_.key.Write(at, keys[0], 0);
    at = WriteText(at, middle_);
    at = WriteNumber(at, serial % 100'000);
    *at++ = '\t';
    at = options_.key.Write(at, keys[0], 0);
    at = WriteText(at, "\tt");
    at = WriteNumber(at, serial);
    *at++ = '\n';
    return at;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    size_t bytes = 0;
    std::string_view lines[kLines];
    for (std::string_view& text : lines) {
      const Line line = FirstLine(received.substr(bytes));
      if (line.bytes == 0) return {};
      text = line.text;
      bytes += line.bytes;
    }
    if (lines[0] == "0\t2\t0\t1") return {bytes, Verdict::kNotApplied, 1, 0, false, {}};
    const bool is_applied =
        lines[0] == "0\t2\t1\t0" && lines[1] == "0\t1\t1" && lines[2].starts_with("0\t1\t");
    if (is_applied) return {bytes, Verdict::kApplied, 1, 0, false, {}};
    return Refused({lines[0], bytes});
  }

 private:
  static constexpr char kOrdersId = '2';
  static constexpr size_t kLines = 3;

  void AppendOpens(Hello* hello) const override {
    AppendOpen(kChangeId, options_.index, options_.stock_column, options_.stock_column, hello);
    Append(std::string("P\t") + kOrdersId + "\t" + options_.db + "\t" + options_.orders_table +
               "\t\tuser,item,token",
           hello);
  }

  std::string middle_;
};

/// Chooses at random between finds and updates; updates must not change the columns that finds
/// read.
class Mixed : public Workload {
 public:
  Mixed(const Options& options, Shared* shared, uint64_t seed)
      : options_(options),
        random_(seed + 1),
        find_(options, shared, seed, FindKind::kOne),
        update_(options, shared, seed + 2) {}

  Hello MakeHello() override {
    Hello hello = find_.MakeHello();
    const Hello changes = update_.MakeHello();
    hello.bytes += changes.bytes;
    hello.replies += changes.replies;
    return hello;
  }
  Checked CheckHello(std::string_view received, size_t number) override {
    return find_.CheckHello(received, number);
  }
  size_t RequestBytesMax() const override {
    return std::max(find_.RequestBytesMax(), update_.RequestBytesMax());
  }
  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    return random_.Unit() * 100 < options_.read_percent ? find_.Build(at, sent, keys)
                                                        : update_.Build(at, sent, keys);
  }
  Checked Check(std::string_view received, const Sent& sent, const uint64_t* keys) override {
    return sent.kind == kFind ? find_.Check(received, sent, keys)
                              : update_.Check(received, sent, keys);
  }

 private:
  const Options& options_;
  Random random_;
  Find find_;
  Update update_;
};

}  // namespace

std::unique_ptr<Workload> MakeHandlerSocket(const Options& options, Shared* shared, uint64_t seed) {
  const std::string& name = options.workload;
  if (name == "hs-update") return std::make_unique<Update>(options, shared, seed);
  if (name == "hs-insert") return std::make_unique<Insert>(options, shared, seed);
  if (name == "hs-decrement") return std::make_unique<Decrement>(options, shared, seed);
  if (name == "hs-purchase") return std::make_unique<Purchase>(options, shared, seed);
  if (name == "hs-mixed") return std::make_unique<Mixed>(options, shared, seed);
  const auto kind = name == "hs-in"           ? FindKind::kIn
                    : name == "hs-range"      ? FindKind::kRange
                    : name == "hs-find-group" ? FindKind::kGroup
                                              : FindKind::kOne;
  return std::make_unique<Find>(options, shared, seed, kind);
}

}  // namespace rowsocket::bench
