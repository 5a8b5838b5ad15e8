// The system variables resp_*, and what the plugin is to the server.
#pragma once

#include "plugin/protocol.h"

namespace rowsocket::plugin {

extern const Descriptor kResp;

}  // namespace rowsocket::plugin
