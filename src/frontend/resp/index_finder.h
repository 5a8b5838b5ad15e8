// Finds the open index that a call needs, among those that its connection has opened, by the shape
// of the call.
//
// Flow: BeginParse, then Find for each call of the command, then EndParse. If Find finds nothing,
// the command is not taken: its connection asks for the index that Ask names, Opened keeps the
// result, and the command is parsed again, once for each index that is missing. What was found
// about a table counts for a second, and its age is taken at the first of these parses: otherwise a
// command with very many tables might never be done. BeginParse closes the indexes if there are
// many; items of the turn before the command may use them, so that the command then has to come
// later.
// Threads: one at a time.
// Limits: kRespOpenIndexesMax, kRespShapeBytesMax and kRespOpenIndexColumnsMax limit the indexes
// that are open when a command begins; kRespCallsMadeMax, kRespBytesParsedMax and
// kRespCommandColumnsMax limit those that are opened for one command.
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
  /// Closes the indexes if there are many, and none is in use. `after_requests`: items of the turn
  /// before this one may use indexes. `now_ms`: when the turn has begun.
  void BeginParse(bool after_requests, int64_t now_ms);
  /// Ends a parse. `asks_for_index`: the request was not taken, and is parsed again next.
  void EndParse(bool asks_for_index) { is_opening_ = asks_for_index; }
  /// Sets whether what was found about a table counts without a limit of time, or for a second.
  void AllowStale(bool allows) { allows_stale_ = allows; }
  /// Whether so many indexes are open that a command has to wait until it may close them.
  bool has_many() const {
    return shapes_.size() > model::kRespOpenIndexesMax ||
           shapes_.bytes() > model::kRespShapeBytesMax ||
           shapes_.columns() > model::kRespOpenIndexColumnsMax;
  }
  /// The memory of open indexes that counts as the connection's: none if there are few.
  size_t held_bytes() const {
    const size_t bytes = shapes_.held_bytes();
    return bytes > model::kRespOpenIndexBytesUncounted ? bytes : 0;
  }
  /// Closes all indexes. REQUIRES: no item uses one.
  void Clear() { shapes_.Clear(); }
  /// Lets all indexes be opened anew, because a table has changed.
  void MarkStale() { shapes_.MarkStale(); }

  /// Finds the shape of the call. Null: an index has to be asked for. `repeats`: the request
  /// differs only in its key from the one whose call was last given to NoteRepeated.
  const RespShape* Find(const RespCall& call, bool repeats);
  /// Notes that the next requests may differ only in their key from that of the call.
  void NoteRepeated(const RespCall& call);

  /// Counts the bytes of the command each time that it is parsed. Call it before WhyNotAsk.
  void CountParsed(size_t bytes) { bytes_parsed_ += bytes; }
  /// Counts an index that a command with `calls` calls is to ask for; each such index costs a parse
  /// that makes all calls anew. Returns an empty text, or why the command is refused.
  std::string_view WhyNotAsk(size_t calls);
  /// The names of the index that the call needs; they live until the next Ask. Null: the parse
  /// before has asked for it, and `*error` says why it could not be opened.
  const engine::IndexNames* Ask(const RespCall& call, model::Error* error);
  /// Takes the result of the last Ask.
  void Opened(const engine::Outcome& outcome, std::shared_ptr<engine::Index> index);

 private:
  RespShapes shapes_;
  bool is_opening_ = false;  ///< The next parse is of the same command.
  bool allows_stale_ = false;
  int64_t command_ms_ = 0;     ///< When the command was parsed for the first time.
  size_t indexes_asked_ = 0;   ///< How many indexes have been asked for since then.
  size_t bytes_parsed_ = 0;    ///< The bytes of all parses of the command since then.
  size_t columns_opened_ = 0;  ///< The columns of the indexes that were opened since then.
  std::string shape_;          ///< The shape of the last call, kept for its memory.
  std::string wanted_;         ///< The shape whose index the last Ask has named.
  std::unique_ptr<engine::IndexNames> wanted_names_;  ///< The names of that index; null: none.
  /// If the table of wanted_ does not exist, the key is a string of the store.
  bool wanted_may_be_string_ = false;
  /// If the table of wanted_ lacks a column, the field is absent.
  bool wanted_may_lack_fields_ = false;
  /// Why the index of wanted_ could not be opened: the answer when its command is parsed again.
  model::Error wanted_error_;
};

}  // namespace rowsocket::frontend
