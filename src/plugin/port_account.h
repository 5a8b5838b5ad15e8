// The account whose rights the connections of a port have (handlersocket_user and the like).
//
// Errors: texts, which name the variable.
#pragma once

#include <memory>
#include <string>

#include "model/account.h"
#include "plugin/protocol.h"

namespace rowsocket::plugin {

/// Makes the account of `name@host`, the value of `variable`; an empty value leaves `*account`
/// null. An account that the server does not have is an error. While the server starts, it does not
/// know its accounts yet: the port then looks once the server knows them, and does not serve
/// without the account. The account gets the default role that it has when the port opens.
bool TakeAccount(const std::string& value, const char* variable, exec::PortSettings* port,
                 std::shared_ptr<const model::Account>* account, std::string* error);

}  // namespace rowsocket::plugin
