// The errors in replies to a memcached client, in the words of memcached 1.6.45.
//
// Command::error holds the errors that the parser finds by itself; the errors below "Execution" are
// found when the command is executed. Errors of the engine go out as `SERVER_ERROR <why>`
// (encoder.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace rowsocket::memcached {

enum class Error : uint8_t {
  kNone,
  // The command line
  kError,  ///< The line is not a command.
  kBadFormat,
  kBadDataChunk,  ///< The data block does not end with CR LF at its announced length.
  kTooLarge,      ///< A value over the limit; the parser swallows its data block.
  kLineTooLong,   ///< A multi-get over the limit; the connection closes.
  kBadExptime,
  kBadDelta,
  kDeleteUsage,
  kStatsDetailUsage,
  // Meta flags
  kDuplicateFlag,
  kInvalidFlag,
  kInvalidOrDuplicateFlag,  ///< The answer of ma to every wrong flag.
  kBadFlagToken,
  kTooManyFlags,
  kBadKeyEncoding,
  kOpaqueTooLong,
  kBadFlagDelta,
  kBadFlagInitial,
  kBadSetMode,
  kBadArithmeticMode,
  // Binary
  kUnknownOpcode,
  kBadHeader,     ///< Lengths that contradict each other; the connection closes.
  kBadArguments,  ///< Lengths that do not fit the opcode; the connection closes.
  // Logging in
  kUnauthenticated,  ///< The client has yet to log in.
  kBadLoginEnd,      ///< The data of a login does not end with CR LF at its announced length.
  kBadLogin,         ///< The data of a login is not a name and a password.
  kAuthFailure,
  kTlsRequired,  ///< A password came over a connection on which others may read it.
  // Execution
  kNotNumeric,  ///< The value of incr or decr is no number.
  kFlushNotAllowed,
  kNoSuchStats,  ///< An unknown argument of stats.
};

/// The text without CR LF. REQUIRES: error != kNone.
std::string_view TextOf(Error error);

/// Status of a binary reply.
enum class BinaryStatus : uint16_t {
  kOk = 0x00,
  kNotFound = 0x01,
  kExists = 0x02,
  kTooLarge = 0x03,
  kInvalidArguments = 0x04,
  kNotStored = 0x05,
  kNotNumeric = 0x06,
  kAuthError = 0x20,
  kUnknownCommand = 0x81,
  kOutOfMemory = 0x82,
  kInternalError = 0x84,
  kTemporaryFailure = 0x86,
};

BinaryStatus StatusOf(Error error);
/// The text in the body of a binary reply with that status.
std::string_view TextOf(BinaryStatus status);

}  // namespace rowsocket::memcached
