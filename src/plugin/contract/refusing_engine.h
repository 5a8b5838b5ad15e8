// An engine without tables that only makes a commit fail: it takes part in a transaction, and
// refuses to prepare it.
//
// Flow: the server starts the plugin that DeclareRefusingEngine declares; a test calls
// FailCommitOfThisTransaction on a session's thread.
// Threads: FailCommitOfThisTransaction on any thread that has a THD.
#pragma once

#include "declare.h"

namespace rowsocket::plugin::contract {

/// Declares the engine. REQUIRES: the library is loaded while the server starts, because only then
/// does the server count the engines that can prepare.
PluginDeclaration DeclareRefusingEngine();

/// Makes the commit of the calling thread's transaction fail.
void FailCommitOfThisTransaction();

}  // namespace rowsocket::plugin::contract
