// The plugin `handlersocket`: its descriptor, and its system variables. The names of the variables
// are the original plugin's; docs/CONFIGURATION.md marks those that the original does not have.
#pragma once

#include "plugin/protocol.h"

namespace rowsocket::plugin {

extern const Descriptor kHandlerSocket;

}  // namespace rowsocket::plugin
