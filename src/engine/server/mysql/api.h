// The server's private headers, then what differs between its versions (compat.h) and between
// servers (accessors.h).
//
// Every other file of engine/server and of plugin/ includes the server through this one. PAST_API
// in scripts/check-docs lists the files that include a header of the server besides.
#pragma once

#include "server_headers.h"
// compat.h needs the server's headers before it, as accessors.h does.
#include "compat.h"
// After compat.h, which says first where the server's version is not a known one.
#include "accessors.h"
