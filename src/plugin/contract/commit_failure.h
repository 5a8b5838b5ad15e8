// An engine without tables whose only purpose is to make a commit fail: it takes part in a
// transaction and refuses to prepare it.
//
// Flow: the plugin's start calls Register; a test calls FailCommitOfThisTransaction on a session's
// thread.
// Threads: Register before all else; FailCommitOfThisTurn on any thread that has a THD.
#pragma once

namespace rowsocket::plugin::contract {

/// `engine`: the handlerton that the server hands to the plugin's start. REQUIRES: the server is
/// just starting, since it counts the engines that can prepare only then.
void RegisterCommitFailure(void* engine);

/// Makes the commit of the calling thread's transaction fail.
void FailCommitOfThisTransaction();

}  // namespace rowsocket::plugin::contract
