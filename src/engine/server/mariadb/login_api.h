// The server's headers that logins need besides those of api.h.
#pragma once

#include "api.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
// clang-format off
#include <sql_connect.h>
#include <hostname.h>
#include <password.h>
#include <mysql.h>
#include <mysql/service_sql.h>
// clang-format on
#pragma GCC diagnostic pop

#undef min
#undef max
#undef test
#undef swap

// Without HAVE_OPENSSL the server's Vio would lack its last member.
#ifndef HAVE_OPENSSL
#error "HAVE_OPENSSL has to be defined, as it was for the server"
#endif

extern sql_service_st sql_service_handler;
/// How many sessions there are for which the server's shutdown does not wait.
extern Atomic_counter<uint32_t> local_connection_thread_count;

/// Signs as the plugin client_ed25519 does; from the server's own source (plugin/auth_ed25519).
extern "C" int crypto_sign(unsigned char* signed_text, const unsigned char* text,
                           unsigned long long text_bytes, const unsigned char* password,
                           unsigned long long password_bytes);
