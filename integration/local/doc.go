// Package local tests the local model as a whole: surveys through dpproxy, their answers on the mirror, and the state after dpproxy
// died.
package local
