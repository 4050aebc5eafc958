// Package clients holds the proof that clients need not be changed: drivers and
// tools as they are, driven through dpproxy; errors in tools that show no notices; the
// test suites of two drivers; and the catalogue, compared with the real database's.
//
// The programs, one folder for each client, take their connection from the
// environment of libpq and write their observations for the test. The suites take
// minutes and run under -clients only.
package clients
