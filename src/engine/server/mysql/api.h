// The server's private headers, then what differs between its versions (compat.h) and between
// servers (accessors.h).
//
// Every other file of engine/server and of plugin/ includes the server through this one.
#pragma once

#include "server_headers.h"

#include "compat.h"
// The functions in accessors.h need these headers before them.
#include "accessors.h"
