// Package versions runs the tests of other packages on the versions of Postgres that are
// served: each as the protected database, and as the mirror.
package versions
