// A small rowsocket.so that stands for several libraries: when the server opens this file, it opens
// the library next to it that was built for the running version, rowsocket.so.X.Y.Z, and shows the
// server the plugins of that library. A package has one library for each server version, so that an
// upgrade of the server from one version to another needs no work.
//
// The server looks the declarations up in this file as soon as dlopen has returned. So the
// constructor of a static object does the work: it copies the declarations. Neither this file nor a
// library has a pointer to the server's services: their versions differ between servers, and a
// server refuses a file that has one in another version, before the file could say anything.
//
// Limits: the layout of a plugin's declaration is the same in all servers that are served; the
// server compares its size.
// Errors: if no library fits, the plugins are declared all the same, and refuse to start with the
// reason, in the error log and for the client of INSTALL SONAME.
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

// With this macro the header would call the server through pointers to its services.
#undef MYSQL_DYNAMIC_PLUGIN
#include <mysql/plugin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

// The server's own variable, declared here because the server's headers beyond plugin.h differ
// between versions.
extern char server_version[];
void sql_print_error(const char* format, ...);

namespace {

constexpr unsigned kCannotStart = 1123;  // ER_CANT_INITIALIZE_UDF: what INSTALL SONAME answers
/// More than any library declares. A library with more is refused.
constexpr size_t kPluginsMax = 32;
constexpr std::string_view kPrefix = "rowsocket.so.";

void* library = nullptr;
std::string reason;

/// The `10.11.18` of `10.11.18-MariaDB-0+deb12u1`.
std::string_view RunningVersion() {
  return {server_version, std::strspn(server_version, "0123456789.")};
}

/// In the form of MYSQL_VERSION_ID. The library's own function of this name (plugin/host.cc) is in
/// no file that this one could include or link.
unsigned RunningVersionId() {
  char* end = server_version;
  unsigned id = 0;
  for (int part = 0; part < 3; ++part) {
    id = id * 100 + static_cast<unsigned>(std::strtoul(end, &end, 10));
    if (*end == '.') ++end;
  }
  return id;
}

/// Names the running version as the one for which the plugin was made; see daemon_info of the
/// library.
struct DaemonInfo : st_mysql_daemon {
  DaemonInfo() : st_mysql_daemon{static_cast<int>(RunningVersionId() << 8)} {}
} daemon_info;

int RefuseToStart(void*) {
  sql_print_error("rowsocket: %s", reason.c_str());
  my_printf_error(kCannotStart, "rowsocket: %s", 0, reason.c_str());
  return 1;
}

st_maria_plugin Refusing(const char* name) {
  return {MYSQL_DAEMON_PLUGIN,
          &daemon_info,
          name,
          "Rowsocket",
          "No library for this server",
          PLUGIN_LICENSE_GPL,
          RefuseToStart,
          nullptr,
          0x0100,
          nullptr,
          nullptr,
          "",
          MariaDB_PLUGIN_MATURITY_GAMMA};
}

/// The folder of this file, with its slash.
std::string Folder() {
  Dl_info self;
  if (dladdr(&library, &self) == 0 || self.dli_fname == nullptr) return "";
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

/// The versions of the libraries in the folder, for a message.
std::string VersionsIn(const std::string& folder) {
  std::string versions;
  DIR* const files = opendir(folder.c_str());
  if (files == nullptr) return versions;
  while (const dirent* file = readdir(files)) {
    if (std::strncmp(file->d_name, kPrefix.data(), kPrefix.size()) != 0) continue;
    versions += (versions.empty() ? "" : ", ") + std::string(file->d_name + kPrefix.size());
  }
  closedir(files);
  return versions;
}

std::string NoneFits(const std::string& folder) {
  const std::string there = VersionsIn(folder);
  return "there is no library for MariaDB " + std::string(RunningVersion()) + " in " + folder +
         " (there is: " + (there.empty() ? "none" : there) +
         "): install a package of Rowsocket that has one, or the server in that version; "
         "rowsocket-doctor tells the commands";
}

}  // namespace

extern "C" {
extern st_maria_plugin _maria_plugin_declarations_[];
extern int _maria_plugin_interface_version_;
extern int _maria_sizeof_struct_st_plugin_;
st_maria_plugin _maria_plugin_declarations_[kPluginsMax + 1] = {};
int _maria_plugin_interface_version_ = MARIA_PLUGIN_INTERFACE_VERSION;
int _maria_sizeof_struct_st_plugin_ = sizeof(st_maria_plugin);
}

namespace {

/// How many plugins a library declares; kPluginsMax + 1: more than there is room for.
size_t CountOf(const st_maria_plugin* declarations) {
  size_t count = 0;
  while (count <= kPluginsMax && declarations[count].info != nullptr) ++count;
  return count;
}

/// Shows the server the library's declarations; false if it has none of a known layout, or more
/// than there is room for.
bool TakeDeclarations() {
  const auto* theirs =
      static_cast<const st_maria_plugin*>(dlsym(library, "_maria_plugin_declarations_"));
  const auto* size = static_cast<const int*>(dlsym(library, "_maria_sizeof_struct_st_plugin_"));
  const auto* version = static_cast<const int*>(dlsym(library, "_maria_plugin_interface_version_"));
  if (theirs == nullptr || size == nullptr || version == nullptr ||
      *size != sizeof(st_maria_plugin) || CountOf(theirs) > kPluginsMax) {
    return false;
  }
  _maria_plugin_interface_version_ = *version;
  std::copy_n(theirs, CountOf(theirs), _maria_plugin_declarations_);
  return true;
}

void OpenTheOneThatFits() {
  const std::string folder = Folder();
  const std::string path = folder + std::string(kPrefix) + std::string(RunningVersion());
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr && TakeDeclarations()) return;
  const char* const error = dlerror();
  const bool is_there = access(path.c_str(), F_OK) == 0;
  reason = is_there ? "cannot open " + path + ": " + (error != nullptr ? error : "not a plugin")
                    : NoneFits(folder);
  _maria_plugin_declarations_[0] = Refusing("handlersocket");
  _maria_plugin_declarations_[1] = Refusing("daemon_memcached");
  _maria_plugin_declarations_[2] = Refusing("resp");
}

/// The last static object of this file, so that all others exist when its constructor runs.
const struct Loader {
  Loader() { OpenTheOneThatFits(); }
  ~Loader() {
    if (library != nullptr) dlclose(library);
  }
} loader;

}  // namespace
