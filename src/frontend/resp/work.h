// What a frontend of RESP knows of a command from Parse to its reply.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "exec/frontend.h"
#include "frontend/resp/command.h"
#include "frontend/resp/key.h"
#include "model/request.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// One request of a command: a command with several keys has one for each.
struct RespCall {
  RespVerb verb = RespVerb::kPing;
  std::span<const std::string_view> arguments;  ///< With the command's name.
  RespKey key;
  engine::Index* index = nullptr;
  model::Request request;
  std::string_view fixed;  ///< The reply of a command that asks no engine.
  uint32_t number = 1;     ///< Of its command, among those of a MULTI, from 1.
  uint32_t unit_request = 0;
  bool is_first = true;  ///< Of the keys of its command.
  bool is_last = true;
  std::string_view refusal = {};  ///< ROW.REQUIRE: the error where it does not hold; empty: nil.
};

struct RespWork : exec::ItemDetail {
  resp::Version version = resp::Version::k2;
  std::span<RespCall> calls;
  bool is_exec = false;
  size_t commands = 1;     ///< Of a MULTI.
  std::string_view reply;  ///< Of a command that is answered without the engine.
  std::string_view wrong;  ///< Why a command failed that the engine has no error for.
  int64_t sum = 0;         ///< Of a command with several keys.
};

}  // namespace rowsocket::frontend
