package sitetest

import (
	"flag"

	_ "github.com/cockroachdb/datadriven" // defines -rewrite, in every package that has a site
)

// Rewriting reports whether the flag -rewrite wants golden files written anew.
func Rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}
