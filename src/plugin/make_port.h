// Makes what the daemon and a port get of the variables that every plugin has.
//
// Threads: those of the protocol's Configure. Errors: none.
#pragma once

#include <string>

#include "plugin/common_variables.h"
#include "plugin/protocol.h"

namespace rowsocket::plugin {

/// `asks_for_logins`: clients show an account's password or a secret, which threads of their own
/// check.
void TakeCommonSettings(const CommonVariables& variables, bool asks_for_logins,
                        DaemonSettings* settings);

/// A port of `mode=rw` that reads and writes, without addresses. `plugin`: what the names of the
/// variables begin with, "resp". `must_authenticate`: whoever has not shown a password or a secret
/// may do nothing.
exec::PortSettings MakePort(const CommonVariables& variables, const std::string& plugin,
                            bool must_authenticate);

}  // namespace rowsocket::plugin
