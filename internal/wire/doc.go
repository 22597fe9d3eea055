// Package wire holds the headers that cross the fabric as views: a type over a
// byte slice with getters and setters, whose length is checked once at the
// border (Valid), after which no accessor can panic; and, where a whole header
// is built, a Fields struct with Encode.
//
// All multi-byte fields are big endian. Nothing here allocates.
package wire
