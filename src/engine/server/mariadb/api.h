// All that other files include of MariaDB (CONTRIBUTING.md, "Style").
#pragma once

#include "server_headers.h"

// The server's macros would break the standard library's names.
#undef min
#undef max
#undef test
#undef swap

// After the server's headers: compat.h says first where their version is not a known one.
#include "compat.h"
// After the server's headers and compat.h.
#include "accessors.h"
