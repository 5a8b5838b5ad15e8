// The only header through which other files include MariaDB's (CONTRIBUTING.md, "Style").
#pragma once

#include "server_headers.h"

// The server's macros would break the standard library's names.
#undef min
#undef max
#undef test
#undef swap

// Included after the server's headers, and first of ours, so that compat.h reports an unknown
// version before anything else fails.
#include "compat.h"
// Included after the server's headers and compat.h.
#include "accessors.h"
