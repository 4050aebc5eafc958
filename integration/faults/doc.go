// Package faults holds the tests of failures: databases, disks and dpproxy itself end, hang or
// are killed, while many clients ask.
package faults
