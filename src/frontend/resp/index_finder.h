// Which open index a call needs, as its connection has found it by the shape of the call.
//
// Flow: BeginParse, then Find for each call of the command, then EndParse. Where Find has nothing,
// the command is not taken: its connection asks for the index that Ask names, Opened keeps what has
// come of it, and the command is parsed again, once for each index that is missing. What was found
// of a table counts for a second, as of the first of these parses: otherwise a command with very
// many tables could come to no end. BeginParse closes the indexes where there are many; items of
// the turn before the command may use them, so that the command then has to come later.
// Threads: one at a time. Limits: kRespShapesMax, kRespShapeBytesMax and kRespShapeColumnsMax of
// all indexes that are open when a command is begun; kRespCallsMadeMax, kRespBytesParsedMax and
// kRespCommandColumnsMax of those that are opened for one command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/session.h"
#include "frontend/resp/shapes.h"
#include "frontend/resp/work.h"
#include "model/error.h"
#include "model/limits.h"

namespace rowsocket::frontend {

class RespIndexFinder {
 public:
  /// Closes the indexes where there are many and none is in use. `is_behind`: items of the turn
  /// before the request may use indexes. `now_ms`: when the turn has begun.
  void BeginParse(bool is_behind, int64_t now_ms);
  /// `asks_for_index`: the request was not taken, and is the one that is parsed next.
  void EndParse(bool asks_for_index) { is_opening_ = asks_for_index; }
  /// Whether what was found of a table counts however long ago it was found, or for a second only.
  void AllowStale(bool allows) { allows_stale_ = allows; }
  /// Whether so many indexes are open that a command which may not close them has to wait until it
  /// may.
  bool has_many() const {
    return shapes_.size() > model::kRespShapesMax || shapes_.bytes() > model::kRespShapeBytesMax ||
           shapes_.columns() > model::kRespShapeColumnsMax;
  }
  /// The memory of open indexes that counts as the connection's: none where there are few.
  size_t held_bytes() const {
    const size_t bytes = shapes_.held_bytes();
    return bytes > model::kRespShapeBytesUncounted ? bytes : 0;
  }
  /// Closes the indexes. To be called while no item uses one.
  void Clear() { shapes_.Clear(); }
  /// All indexes are to be opened anew: a table has changed.
  void MarkStale() { shapes_.MarkStale(); }

  /// What was found for the shape of the call. Null: an index has to be asked for. `repeats`: the
  /// request differs in its key alone from the last one whose call was given to NoteRepeated.
  const RespShape* Find(const RespCall& call, bool repeats);
  /// The next requests may differ from that of the call in their key alone.
  void NoteRepeated(const RespCall& call);

  /// Counts the bytes of the command that is being parsed: once for each time. To be called before
  /// WhyNotAsk.
  void CountParsed(size_t bytes) { bytes_parsed_ += bytes; }
  /// Counts an index that is to be asked for by a command with so many calls, which each index that
  /// is opened has made anew. Empty, or why the command is refused.
  std::string_view WhyNotAsk(size_t calls);
  /// The names of the index that the call needs, until the next Ask. Null: it was asked for by the
  /// parse before, and `*error` is what has come of it.
  const engine::IndexNames* Ask(const RespCall& call, model::Error* error);
  /// What has come of the last Ask.
  void Opened(const engine::Outcome& outcome, std::shared_ptr<engine::Index> index);

 private:
  RespShapes shapes_;
  bool is_opening_ = false;  ///< The next parse is of the same command.
  bool allows_stale_ = false;
  int64_t command_ms_ = 0;     ///< When the command was parsed for the first time.
  size_t indexes_asked_ = 0;   ///< How many indexes have been asked for since then.
  size_t bytes_parsed_ = 0;    ///< The bytes of all parses of the command since then.
  size_t columns_opened_ = 0;  ///< The columns of the indexes that have been opened since then.
  std::string shape_;          ///< The shape of the last call, kept for its memory.
  std::string wanted_;         ///< The shape whose index the last Ask has named.
  std::unique_ptr<engine::IndexNames> wanted_names_;  ///< What that index is opened by; null: none.
  /// wanted_: where there is no such table, the key is a string of the store.
  bool wanted_may_be_string_ = false;
  /// wanted_: where the table has no such column, the field is absent.
  bool wanted_may_lack_fields_ = false;
  /// Why the index of wanted_ could not be opened: the answer when its command is parsed again.
  model::Error wanted_error_;
};

}  // namespace rowsocket::frontend
