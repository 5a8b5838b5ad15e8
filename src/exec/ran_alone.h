// Why a request for a row that several requests of a batch share was executed by itself: the
// engine's reason, or the executor's own.
#pragma once

#include <cstdint>

#include "engine/session.h"

namespace rowsocket::exec {

/// The values of engine::NotMergeable, then the executor's.
enum class RanAlone : uint8_t {
  kNot,  ///< The request was merged with others, or its row was not shared.
  /// The batch of the request could not be written merged, and ran again one by one.
  kRerun = static_cast<uint8_t>(engine::NotMergeable::kCount),
  kCount
};

/// The value of RanAlone for a reason of the engine.
constexpr RanAlone RanAloneFor(engine::NotMergeable reason) {
  return static_cast<RanAlone>(reason);
}

}  // namespace rowsocket::exec
