package corpora_test

import (
	"flag"
	"testing"

	"dpproxy/internal/sitetest"
)

// people is asked for: values are compared with the truth then, which means little for few people.
var people = flag.Int("people", 0, "compare values of tables of so many people with the truth")

func TestMain(m *testing.M) { sitetest.Main(m) }
