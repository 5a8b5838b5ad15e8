// Turns the variables that every plugin has into the settings of the daemon and of a port.
//
// Threads: those of the protocol's Configure.
// Errors: none.
#pragma once

#include <string>

#include "plugin/common_variables.h"
#include "plugin/protocol.h"

namespace rowsocket::plugin {

/// Takes the daemon's settings. `asks_for_logins`: clients send an account's password or a secret,
/// which login threads check.
void TakeCommonSettings(const CommonVariables& variables, bool asks_for_logins,
                        DaemonSettings* settings);

/// Makes the settings of a port of `mode=rw` that reads and writes, without addresses. `plugin`:
/// how the names of the variables begin, "resp". `must_authenticate`: a client that has not sent a
/// password or a secret may do nothing.
exec::PortSettings MakePort(const CommonVariables& variables, const std::string& plugin,
                            bool must_authenticate);

}  // namespace rowsocket::plugin
