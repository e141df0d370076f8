// Everything that is linked into llama.cpp's module, as one object.
#include "attention.h"
#include "graph.h"
#include "product.h"
#include "server.h"
