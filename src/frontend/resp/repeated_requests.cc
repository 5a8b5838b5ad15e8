#include "frontend/resp/repeated_requests.h"

#include <utility>

namespace rowsocket::frontend {

namespace {

/// Whether clients send the command again and again with only another key.
bool IsRepeated(const RespCommand& command) {
  return HasOneKey(command) && (!command.writes || command.verb == RespVerb::kHIncrBy ||
                                command.verb == RespVerb::kIncrBy);
}

}  // namespace

resp::RequestStep RespRepeatedRequests::Next(std::string_view input,
                                             const resp::RequestLimits& limits,
                                             base::Arena& arena) {
  resp::RequestStep step;
  repeats_ = pattern_.Take(input, limits, arena, &step);
  if (!repeats_) step = resp::NextRequest(input, limits, arena, &progress_);
  if (step.result != resp::RequestStep::Result::kNeedMore) progress_ = {};
  return step;
}

const RespCommand* RespRepeatedRequests::CommandOf(std::string_view name) {
  if (last_command_ == nullptr || name != last_name_) {
    last_command_ = FindRespCommand(name);
    if (last_command_ != nullptr) last_name_ = name;
  }
  return last_command_;
}

// A request becomes the pattern only if the one before had the same command, because copying each
// request would cost more than patterns save.
bool RespRepeatedRequests::Note(const RespCommand& command, RespArguments arguments,
                                std::string_view bytes) {
  if (repeats_) return false;
  const RespCommand* const before = std::exchange(noted_command_, &command);
  if (!IsRepeated(command) || before != &command) return false;
  pattern_.Note(bytes, arguments);
  return true;
}

}  // namespace rowsocket::frontend
