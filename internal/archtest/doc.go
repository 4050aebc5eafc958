// Package archtest holds tests of the shape of the source: which package may
// import which, package comments, the length of files and functions. They read
// the source themselves, so that the test cache sees every file they depend on.
package archtest
