// Package bench measures dpproxy's noise beside that of Google's differential
// privacy library for Go, in one run, and the search for recycled noise. It is a
// module of its own, so that dpproxy does not depend on what it is compared with.
package bench
