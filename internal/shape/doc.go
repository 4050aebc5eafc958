// Package shape measures the packages of a module: how their files hang together, how wide
// their types are, how long their functions, and how many words explain them.
package shape
