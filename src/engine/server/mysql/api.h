// All that other files include of MySQL (CONTRIBUTING.md, "Style").
#pragma once

#include "server_headers.h"
// After the server's headers: compat.h says first where their version is not a known one.
#include "compat.h"
// After the server's headers and compat.h.
#include "accessors.h"
