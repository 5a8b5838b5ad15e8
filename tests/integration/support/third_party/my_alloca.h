#include <alloca.h>
