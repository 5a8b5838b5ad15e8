// The library's version.
#pragma once

namespace rowsocket::model {

/// The version of this release, or of the next one. The build and scripts/package read this line.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace rowsocket::model
