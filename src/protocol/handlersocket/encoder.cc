#include "protocol/handlersocket/encoder.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"
#include "protocol/handlersocket/errors.h"
#include "protocol/handlersocket/escape.h"

namespace rowsocket::handlersocket {

namespace {

constexpr size_t kDecimalBytesMax = 20;
/// Cells up to this size get room for their longest escaped form at once.
constexpr size_t kShortCellBytes = 512;
constexpr std::string_view kNullCell("\t\0", 2);

void AppendDecimal(auto number, base::Buffer* out) {
  char* const begin = out->Room(kDecimalBytesMax);
  const std::to_chars_result result = std::to_chars(begin, begin + kDecimalBytesMax, number);
  out->Commit(static_cast<size_t>(result.ptr - begin));
}

void AppendErrorText(model::Error error, base::Buffer* out) {
  if (error.code == model::ErrorCode::kEngine) {
    AppendDecimal(error.number, out);
  } else {
    out->Append(Text(error.code));
  }
}

}  // namespace

void AppendOk(base::Buffer* out) { out->Append("0\t1\n"); }

void AppendCount(uint64_t count, base::Buffer* out) {
  out->Append("0\t1\t");
  AppendDecimal(count, out);
  out->Append('\n');
}

void AppendError(model::Error error, base::Buffer* out) {
  ROWSOCKET_REQUIRE(!error.ok());
  AppendDecimal(CodeDigit(error.code), out);
  out->Append("\t1\t");
  AppendErrorText(error, out);
  out->Append('\n');
}

void AppendGroupEnd(bool applied, uint32_t position, base::Buffer* out) {
  out->Append(applied ? "0\t2\t1\t" : "0\t2\t0\t");
  AppendDecimal(position, out);
  out->Append('\n');
}

void AppendGroupError(model::Error error, uint32_t position, base::Buffer* out) {
  ROWSOCKET_REQUIRE(!error.ok());
  AppendDecimal(CodeDigit(error.code), out);
  out->Append("\t2\t");
  AppendErrorText(error, out);
  out->Append('\t');
  AppendDecimal(position, out);
  out->Append('\n');
}

void AppendTokenState(std::string_view state, std::string_view answer, base::Buffer* out) {
  out->Append("0\t2\t");
  out->Append(state);
  out->Append('\t');
  AppendDecimal(std::count(answer.begin(), answer.end(), '\n'), out);
  out->Append('\n');
  out->Append(answer);
}

void AppendText(std::string_view text, base::Buffer* out) {
  out->Append("0\t1\t");
  AppendEscaped(text, out);
  out->Append('\n');
}

void AppendHealth(const model::Health& health, base::Buffer* out) {
  out->Append("0\t6");
  for (const std::string_view cell : {model::Name(health.role), health.state}) {
    out->Append('\t');
    out->Append(cell);
  }
  out->Append(health.reads ? "\t1" : "\t0");
  out->Append(health.writes ? "\t1\t" : "\t0\t");
  AppendEscaped(health.version, out);
  if (health.lag_s) {
    out->Append('\t');
    AppendDecimal(*health.lag_s, out);
  } else {
    out->Append(kNullCell);
  }
  out->Append('\n');
}

RowEncoder::RowEncoder(uint32_t columns, size_t reply_bytes_max, base::Buffer* out)
    : out_(out), begin_(out->size()), end_max_(begin_ + reply_bytes_max - 1) {
  char* const begin = out_->Room(2 + kDecimalBytesMax);
  begin[0] = '0';
  begin[1] = '\t';
  const std::to_chars_result end = std::to_chars(begin + 2, begin + 2 + kDecimalBytesMax, columns);
  out_->Commit(static_cast<size_t>(end.ptr - begin));
}

bool RowEncoder::Fits(size_t bytes) {
  const size_t size = out_->size();
  if (size <= end_max_ && bytes <= end_max_ - size) return true;
  overflowed_ = true;
  return false;
}

bool RowEncoder::Cell(std::string_view text) {
  // The exact size is counted only near the limit: an escaped text is at most twice as long.
  const size_t size = out_->size();
  const bool surely_fits = size <= end_max_ && 1 + 2 * text.size() <= end_max_ - size;
  if (surely_fits && text.size() <= kShortCellBytes) [[likely]] {
    char* const begin = out_->Room(1 + 2 * text.size());
    *begin = '\t';
    out_->Commit(static_cast<size_t>(WriteEscaped(text, begin + 1) - begin));
    return true;
  }
  if (!surely_fits && !Fits(1 + text.size() + EscapeCount(text))) return false;
  out_->Append('\t');
  AppendEscaped(text, out_);
  return true;
}

bool RowEncoder::NullCell() {
  if (!Fits(kNullCell.size())) return false;
  out_->Append(kNullCell);
  return true;
}

void RowEncoder::Finish() {
  ROWSOCKET_REQUIRE(!overflowed_);
  out_->Append('\n');
}

void RowEncoder::Cancel() { out_->Truncate(begin_); }

}  // namespace rowsocket::handlersocket
