// The plugin `resp`: its descriptor, and its system variables resp_*.
#pragma once

#include "plugin/protocol.h"

namespace rowsocket::plugin {

extern const Descriptor kResp;

}  // namespace rowsocket::plugin
