// Writes replies: one line each, `<code> HT <columns> [HT <cell>]... LF`.
//
// Flow: Append* write a whole reply. A find's reply is written by a RowEncoder, into which the
// engine pushes cells: construct, (Cell | NullCell)*, then Finish or Cancel.
// Threads: none of their own.
// Lifetime: no argument is kept, except the buffer of a RowEncoder.
// Limits: a find's reply holds at most reply_bytes_max bytes; other replies are below 200 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "model/error.h"
#include "model/health.h"
#include "model/row_sink.h"

namespace rowsocket::handlersocket {

/// `0 1`: open_index, auth, and an insert into a table without AUTO_INCREMENT.
void AppendOk(base::Buffer* out);
/// `0 1 <n>`: the number of rows that a find_modify changed, or the id that an insert generated (0:
/// the client gave the id).
void AppendCount(uint64_t count, base::Buffer* out);
/// `<code> 1 <text>`; the text of kEngine is the engine's number. REQUIRES: !error.ok().
void AppendError(model::Error error, base::Buffer* out);

/// `0 2 1 0`: a group was applied; `0 2 0 <position>`: the request at `position`, from 1, has
/// stopped it.
void AppendGroupEnd(bool applied, uint32_t position, base::Buffer* out);
/// `<code> 2 <text> <position>`: a group that failed because of the request at `position`, or as a
/// whole if that is 0. REQUIRES: !error.ok().
void AppendGroupError(model::Error error, uint32_t position, base::Buffer* out);

/// `0 2 <state> <lines>`, and the lines of the answer that is kept with a token.
void AppendTokenState(std::string_view state, std::string_view answer, base::Buffer* out);

/// `0 6 <role> <state> <reads> <writes> <version> <lag>`.
void AppendHealth(const model::Health& health, base::Buffer* out);

/// `0 1 <text>`.
void AppendText(std::string_view text, base::Buffer* out);

/// The reply to a find, cell by cell. Only one RowEncoder at a time may write to a buffer, and
/// nothing else is appended to the buffer before Finish or Cancel.
class RowEncoder final : public model::RowSink {
 public:
  /// Begins the reply. `reply_bytes_max` is the limit of the whole reply, with its LF.
  RowEncoder(uint32_t columns, size_t reply_bytes_max, base::Buffer* out);

  bool Cell(std::string_view text) override;
  bool NullCell() override;

  /// Ends the reply. REQUIRES: !overflowed().
  void Finish();
  /// Takes back all bytes of the reply, as if the RowEncoder had never been; an error reply
  /// follows.
  void Cancel();

  /// True when a cell did not fit: answer kResultsize after Cancel.
  bool overflowed() const { return overflowed_; }

 private:
  /// Whether `bytes` more bytes and the LF still fit.
  bool Fits(size_t bytes);

  base::Buffer* out_;
  size_t begin_;    ///< Size of the buffer before the reply.
  size_t end_max_;  ///< Size of the buffer that cells may reach, leaving the LF its place.
  bool overflowed_ = false;
};

}  // namespace rowsocket::handlersocket
