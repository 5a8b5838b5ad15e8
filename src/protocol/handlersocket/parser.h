// Turns a line into the command that it asks for.
//
// Flow: Framer::Next (framer.h) finds the next line in the bytes that a connection has received;
// ParseLine turns it into a Command. A pure function over bytes: no I/O, no server, no exceptions,
// and no memory except the arena's.
//
// Shape of a line (HT between words; see spec/handlersocket.md):
//
//   P <id> <db> <table> [<index> [<columns> [<filter columns>]]]
//   A <type> [<key> [<password>]]
//   H [<check> [<lag>]]
//   N [<name>]
//   <id> + <n> <v1..vn>
//   <id> <op> <n> <v1..vn> [<limit> [<offset> [@ <icol> <m> <iv1..ivm>] [F|W <fop> <fcol> <fval>]*
//        [MOD <m1..mk>]]]
//
// `T <token> ...` (token_line.h), where tokens are served, and `G <n>` with its `R|O` lines
// (group.h) are taken apart before: ParseLine gets only what is left.
//
// Errors: the parser does not stop at an error. It adds every error that the line itself shows to
// Command::errors and goes on, so that the caller can add the errors that only the caller knows,
// and answer errors.First(), whichever error was found first.
// Threads: any; nothing is shared.
// Lifetime: a Command's views point into the line or the arena, whichever ends first.
// Limits: every count on the line is compared with model::Limits before it sizes anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "model/health.h"
#include "model/limits.h"
#include "model/request.h"
#include "protocol/handlersocket/errors.h"

namespace rowsocket::handlersocket {

/// The arguments of `P`. A word that is exactly 0x00 reads as empty, as every missing word does.
struct OpenIndex {
  std::string_view database;
  std::string_view table;
  std::string_view index;  ///< A name; or a number when it starts with a digit; empty: PRIMARY.
  /// The names between the commas, including empty ones (the error is then `fld`, because no column
  /// has an empty name). An empty word has no name at all.
  std::span<const std::string_view> columns;
  std::span<const std::string_view> filter_columns;
};

/// The arguments of `H`.
struct ServerQuestion {
  enum class Kind : uint8_t {
    kHealth,        ///< What the server says of itself.
    kTakesReads,    ///< Whether the server takes finds, and lags by `lag_max_s` at most.
    kTakesWrites,   ///< Whether the server takes writes.
    kPosition,      ///< The position in the binary log.
    kServesGroups,  ///< Whether groups are served: yes.
    kServesNames,   ///< Whether connections may have names: yes.
    kHasExecuted,   ///< Whether the server has executed `gtids`, or `gtid_ranges`.
  };
  Kind kind = Kind::kHealth;
  std::optional<uint64_t> lag_max_s;
  std::span<const model::Gtid> gtids;
  std::span<const model::GtidRange> gtid_ranges;
};

/// One parsed line.
struct Command {
  enum class Kind : uint8_t {
    kInvalid,         ///< No verb: `errors` holds kCmd.
    kOpenIndex,       ///< P: index_id, open_index.
    kAuth,            ///< A: auth_key; type 2: auth_password.
    kServerQuestion,  ///< H: server_question.
    kName,            ///< N: client_name.
    kRequest,         ///< index_id, request.
  };
  Kind kind = Kind::kInvalid;
  ErrorSet errors;  ///< Every error that the line itself shows.
  /// False: the id is no number (`errors` holds kNumber), so that there is no index to look up.
  bool has_index_id = false;
  uint64_t index_id = 0;  ///< Below Limits::index_ids_max, or errors holds kStmtnum.
  OpenIndex open_index;
  /// NULL when the word is 0x00, which is never the right key, not even if no secret is set.
  model::Value auth_key;
  /// A has type 2, which is for ports with accounts: auth_key is a user's name. `errors` holds
  /// kAuthtype, as for every type that is not 1.
  bool auth_names_user = false;
  model::Value auth_password;
  ServerQuestion server_question;
  std::string_view client_name;  ///< Empty: none. `errors` holds kClientName if it may not be.
  /// The request to execute when `errors` is empty. Otherwise only its views and limits can be
  /// relied on.
  model::Request request;
  /// The line asks for a write, perhaps by a modification that does not exist: on the read port the
  /// error is `readonly`.
  bool wants_write = false;
};

/// Parses one line, as Framer returned it. The answer to a line with several errors is
/// Command::errors.First() after the caller has added its own errors.
///
/// Never fails: a line that makes no sense is a Command of kind kInvalid. Takes time and memory in
/// O(line.size()), plus the values that a line counts but does not have: at most limits.values_max
/// empty strings.
Command ParseLine(std::string_view line, const model::Limits& limits, base::Arena& arena);

}  // namespace rowsocket::handlersocket
