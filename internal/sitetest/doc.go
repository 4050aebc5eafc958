// Package sitetest starts dpproxy as an administrator does, between two throwaway servers of
// Postgres, for tests of the whole: the command is built, and everything goes through its
// policy, its commands and its address. It leaves nothing behind.
package sitetest
