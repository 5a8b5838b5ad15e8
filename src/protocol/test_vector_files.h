// The files of golden vectors, for the tests of each protocol; spec/vectors/README.md describes
// them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::protocol {

/// The bytes of a text in which each character, from U+0000 to U+00FF, stands for one byte.
inline std::string BytesOf(std::string_view utf8) {
  std::string bytes;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes += utf8[i];
    } else if (lead == 0xc2 || lead == 0xc3) {
      bytes += static_cast<char>((lead << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3f));
    } else {
      throw std::runtime_error("a character above U+00FF is not a byte: " + std::string(utf8));
    }
  }
  return bytes;
}

/// All vectors of a folder, in the order of its files. `parse(name, json)` makes each vector; the
/// name has the name of its file before it. Throws when the folder is missing or a file is
/// malformed.
template <typename Vector>
std::vector<Vector> LoadVectorFiles(const char* folder,
                                    Vector (*parse)(std::string name, const nlohmann::json&)) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Vector> vectors;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file);
    const nlohmann::json json = nlohmann::json::parse(stream);
    for (const nlohmann::json& vector : json.at("vectors")) {
      const std::string name = vector.at("name").get<std::string>();
      vectors.push_back(parse(file.stem().string() + ": " + name, vector));
    }
  }
  return vectors;
}

}  // namespace rowsocket::protocol
