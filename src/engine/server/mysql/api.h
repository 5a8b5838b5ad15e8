// The server's private headers, then what differs between its versions (compat.h) and between
// servers (accessors.h).
//
// Every other file of engine/server and of plugin/ includes the server through this one. PAST_API
// in scripts/check-docs lists the files that include a header of the server besides.
#pragma once

#include "server_headers.h"
// After the server's headers: compat.h says first where their version is not a known one.
#include "compat.h"
// After the server's headers and compat.h.
#include "accessors.h"
