#include "protocol/memcached/error.h"

#include "base/require.h"

namespace rowsocket::memcached {

std::string_view TextOf(Error error) {
  ROWSOCKET_REQUIRE(error != Error::kNone);
  switch (error) {
    case Error::kNone:
      break;
    case Error::kError:
      return "ERROR";
    case Error::kBadFormat:
      return "CLIENT_ERROR bad command line format";
    case Error::kBadDataChunk:
      return "CLIENT_ERROR bad data chunk";
    case Error::kTooLarge:
      return "SERVER_ERROR object too large for cache";
    case Error::kLineTooLong:
      return "CLIENT_ERROR line too long";
    case Error::kBadExptime:
      return "CLIENT_ERROR invalid exptime argument";
    case Error::kBadDelta:
      return "CLIENT_ERROR invalid numeric delta argument";
    case Error::kDeleteUsage:
      return "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";
    case Error::kStatsDetailUsage:
      return "CLIENT_ERROR usage: stats detail on|off|dump";
    case Error::kDuplicateFlag:
      return "CLIENT_ERROR duplicate flag";
    case Error::kInvalidFlag:
      return "CLIENT_ERROR invalid flag";
    case Error::kInvalidOrDuplicateFlag:
      return "CLIENT_ERROR invalid or duplicate flag";
    case Error::kBadFlagToken:
      return "CLIENT_ERROR bad token in command line format";
    case Error::kTooManyFlags:
      return "CLIENT_ERROR options flags are too long";
    case Error::kBadKeyEncoding:
      return "CLIENT_ERROR error decoding key";
    case Error::kOpaqueTooLong:
      return "CLIENT_ERROR opaque token too long";
    case Error::kBadFlagDelta:
      return "CLIENT_ERROR invalid numeric delta value";
    case Error::kBadFlagInitial:
      return "CLIENT_ERROR invalid numeric initial value";
    case Error::kBadSetMode:
      return "CLIENT_ERROR invalid mode for ms M token";
    case Error::kBadArithmeticMode:
      return "CLIENT_ERROR invalid mode for ma M token";
    case Error::kUnknownOpcode:
    case Error::kBadHeader:
      return TextOf(BinaryStatus::kUnknownCommand);
    case Error::kBadArguments:
      return TextOf(BinaryStatus::kInvalidArguments);
    case Error::kUnauthenticated:
      return "CLIENT_ERROR unauthenticated";
    case Error::kBadLoginEnd:
      return "CLIENT_ERROR bad command line termination";
    case Error::kBadLogin:
      return "CLIENT_ERROR bad authentication token format";
    case Error::kAuthFailure:
      return "CLIENT_ERROR authentication failure";
    case Error::kTlsRequired:
      return "CLIENT_ERROR TLS required";
    case Error::kNotNumeric:
      return "CLIENT_ERROR cannot increment or decrement non-numeric value";
    case Error::kFlushNotAllowed:
      return "CLIENT_ERROR flush_all not allowed";
    case Error::kNoSuchStats:
      return "ERROR";
  }
  return {};
}

BinaryStatus StatusOf(Error error) {
  switch (error) {
    case Error::kNone:
      return BinaryStatus::kOk;
    case Error::kTooLarge:
      return BinaryStatus::kTooLarge;
    case Error::kUnknownOpcode:
    case Error::kBadHeader:
      return BinaryStatus::kUnknownCommand;
    case Error::kNotNumeric:
      return BinaryStatus::kNotNumeric;
    case Error::kFlushNotAllowed:
    case Error::kUnauthenticated:
    case Error::kBadLoginEnd:
    case Error::kBadLogin:
    case Error::kAuthFailure:
    case Error::kTlsRequired:
      return BinaryStatus::kAuthError;
    case Error::kNoSuchStats:
    case Error::kStatsDetailUsage:
      return BinaryStatus::kNotFound;
    case Error::kError:
    case Error::kBadFormat:
    case Error::kBadDataChunk:
    case Error::kLineTooLong:
    case Error::kBadExptime:
    case Error::kBadDelta:
    case Error::kDeleteUsage:
    case Error::kDuplicateFlag:
    case Error::kInvalidFlag:
    case Error::kInvalidOrDuplicateFlag:
    case Error::kBadFlagToken:
    case Error::kTooManyFlags:
    case Error::kBadKeyEncoding:
    case Error::kOpaqueTooLong:
    case Error::kBadFlagDelta:
    case Error::kBadFlagInitial:
    case Error::kBadSetMode:
    case Error::kBadArithmeticMode:
    case Error::kBadArguments:
      break;
  }
  return BinaryStatus::kInvalidArguments;
}

std::string_view TextOf(BinaryStatus status) {
  switch (status) {
    case BinaryStatus::kOk:
      break;
    case BinaryStatus::kNotFound:
      return "Not found";
    case BinaryStatus::kExists:
      return "Data exists for key.";
    case BinaryStatus::kTooLarge:
      return "Too large.";
    case BinaryStatus::kInvalidArguments:
      return "Invalid arguments";
    case BinaryStatus::kNotStored:
      return "Not stored.";
    case BinaryStatus::kNotNumeric:
      return "Non-numeric server-side value for incr or decr";
    case BinaryStatus::kAuthError:
      return "Auth failure.";
    case BinaryStatus::kUnknownCommand:
      return "Unknown command";
    case BinaryStatus::kOutOfMemory:
      return "Out of memory";
    case BinaryStatus::kInternalError:
      return "Internal error";
    case BinaryStatus::kTemporaryFailure:
      return "Temporary failure";
  }
  return {};
}

}  // namespace rowsocket::memcached
