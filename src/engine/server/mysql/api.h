// The only header through which other files include MySQL's (CONTRIBUTING.md, "Style").
#pragma once

#include "server_headers.h"
// Included after the server's headers, and first of ours, so that compat.h reports an unknown
// version before anything else fails.
#include "compat.h"
// Included after the server's headers and compat.h.
#include "accessors.h"
