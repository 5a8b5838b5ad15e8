// Times of expiry in commands on a key: those that a command sets, and those that it answers.
//
// Threads: any; the functions keep nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/arena.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Whether the times of a command are in milliseconds: of two commands that differ only in that,
/// the one in milliseconds begins with P.
bool IsInMilliseconds(const RespCall& call);
/// Sets the expiry of the call's string command from a client's number: a span, or, with
/// `is_moment`, a moment. Returns an empty text, or an error.
std::string_view SetExpiry(const RespCall& call, std::string_view number, bool is_seconds,
                           bool is_moment, base::Arena& arena);
/// Reads EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, on any key.
std::string_view PrepareExpire(RespCall& call, base::Arena& arena);
/// What TTL, PTTL, EXPIRETIME and PEXPIRETIME answer about a key that exists.
int64_t ExpiryAnswer(const RespCall& call, int64_t expires_ms);

}  // namespace rowsocket::frontend
