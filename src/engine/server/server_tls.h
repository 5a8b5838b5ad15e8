// The server's TLS: its certificate, key, ciphers and certificate authorities, as the variables
// ssl_* name them. FLUSH SSL, in MySQL ALTER INSTANCE RELOAD TLS, loads them anew. What all servers
// do alike is in server_tls.cc, the rest in one server_tls.cc for each family.
// Threads: any.
#pragma once

#include <string>

struct ssl_st;  // OpenSSL's SSL

namespace rowsocket::engine::server {

/// A TLS object of the server's present context, which the caller frees; null if the server has
/// no certificate.
ssl_st* NewServerSsl();

/// Why connections cannot have the server's TLS, with the variables to change; empty if they can. A
/// server that is starting may not know yet.
std::string WhyNoTls();

/// The text of a global variable; empty if the server has no such variable.
std::string TextOfVariable(const char* name);

/// Whether the server has been told which certificate authorities it trusts. Otherwise it trusts
/// all authorities that the operating system trusts.
bool HasOwnAuthorities();

}  // namespace rowsocket::engine::server
