package survey_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"dpproxy/mechanisms"
)

var (
	many    = flag.Int("objects", 2000, "objects of TestMany")
	surveys = flag.Int("surveys", 10, "surveys of TestMany")
)

// TestMany asks many objects often, under realized losses, and prints the time, the bytes and the memory: make local.
func TestMany(t *testing.T) {
	dir := t.TempDir()
	b := &books{}
	table := b.open(t, dir)
	texts := []string{
		"smoker", "1/(1+exp(-(0.0761*age+0.0952*sex+0.0163*bmi-7.989)))", "ward", "age", "sex",
		"1/(1+exp(-(0.0491*age+0.1039*bmi-5.07)))",
		"bmi", "0.5*age + bmi", "age * 2", "bmi * 2",
	}
	public, values := [][]byte{[]byte("north")}, make([]float64, 5)
	for n := range *surveys {
		in := inquiry(question(t, texts[n%len(texts)]), fmt.Sprint("s", n))
		in.EpsilonPico, in.Budget.EpsilonPico, in.Never = 5e11-int64(n), 4e12, true
		began := time.Now()
		d, err := table.Draft(in, mechanisms.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		for i := range *many {
			for c, column := range in.Columns {
				values[c] = column.Low + float64(i%40)
				if column.Values != nil {
					values[c] = float64(i % len(column.Values))
				}
			}
			if err := d.Object(fmt.Appendf(nil, "%09d", i), public, true, values[:len(in.Columns)]); err != nil {
				t.Fatal(err)
			}
		}
		entry, err := d.Write()
		if err != nil {
			t.Fatal(err)
		}
		b.surveys = append(b.surveys, entry)
		s := d.Recorded()
		info, err := os.Stat(filepath.Join(dir, fmt.Sprint(n+1, ".survey")))
		if err != nil {
			t.Fatal(err)
		}
		if most := int64(2_000_000); info.Size()*1_000_000 > most*int64(max(*many, 1_000_000)) {
			t.Errorf("survey %d has %d bytes", n+1, info.Size())
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		t.Logf("survey %d: %d of %d answered, %.1f s, %d bytes, %d MiB from the system", n+1, s.Answered, s.Asked,
			time.Since(began).Seconds(),
			info.Size(), memory.Sys>>20)
	}
	began := time.Now()
	if again := b.open(t, dir); again.Frozen() != nil || again.Objects() != int64(*many) {
		t.Fatal(again.Frozen())
	}
	t.Logf("read again in %.1f s", time.Since(began).Seconds())
}
