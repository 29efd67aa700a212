// Hashing/SHA256.swift says why.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
