package truth_test

import (
	"flag"
	"testing"

	"dpproxy/internal/sitetest"
)

var (
	draws    = flag.Int("draws", 0, "ask the questions with a table of errors so many times")
	rounds   = flag.Int("rounds", 0, "ask the questions of an analyst so many times")
	asked    = flag.String("asked", "testdata/analyst.sql", "the file with the questions of an analyst about the clinic")
	sessions = flag.Int("sessions", 2, "ask in so many sessions at once")
	only     = flag.String("only", "", "ask only the questions with an error table whose names match this")
	patients = flag.Int("patients", 100_000, "patients of the clinic")
	cost     = flag.Bool("cost", false, "measure how long replays take")
	scale    = flag.Float64("scale", 0.1, "scale factor of the TPC-H-derived data")
)

func TestMain(m *testing.M) { sitetest.Main(m) }
