package demo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/demo"
	"dpproxy/internal/needs"
)

// invented holds a study of seven records of nobody, with each defect that the
// loader knows.
const invented = "testdata/nafld"

func inventedStudy(t *testing.T) *demo.Study {
	t.Helper()
	s, err := demo.ReadStudy(invented)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadStudyCounts(t *testing.T) {
	s := inventedStudy(t)
	want := demo.StudyCounts{
		People:       demo.TableCounts{Loaded: 4, Dropped: 3},
		Labs:         demo.TableCounts{Loaded: 8, Dropped: 3},
		Events:       demo.TableCounts{Loaded: 3, Dropped: 2},
		MostLabs:     4,
		RepeatedLabs: 1,
		StrayCases:   1,
		Twins: []demo.Twin{
			{Test: "chol", Other: "hdl", Equal: 1, Measurements: 4},
			{Test: "sbp", Other: "dbp", Equal: 0, Measurements: 1},
		},
	}
	if diff := cmp.Diff(want, s.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	wantNotes := []string{
		"people: 4 loaded, 3 dropped",
		"labs: 8 loaded, 3 dropped; at most 4 of one person; 1 repeat another row and are kept",
		"events: 3 loaded, 2 dropped",
		"1 people have a case_id that is nobody's id",
		"1 of 4 measurements of chol stand under hdl too: the source's defect, loaded as it is",
	}
	if diff := cmp.Diff(wantNotes, s.Counts.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestLoadStudy(t *testing.T) {
	conn := connect(t)
	if err := demo.Load(t.Context(), conn, inventedStudy(t), nil); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string][]string{
		"SELECT p::text FROM people p ORDER BY id": {
			"(1,57,50-59,f,60,163,22.7,3,6261,0)",
			"(2,29,18-29,t,,,,,624,1)",
			"(3,18,18-29,t,105.8,186,30.5,3,1783,0)",
			"(4,80,80+,f,70,170,,99,100,1)",
		},
		"SELECT l::text FROM labs l ORDER BY id": {
			"(1,1,50-59,-459,hdl,75)",
			"(2,1,50-59,-459,chol,75)",
			"(3,1,50-59,183,chol,190.5)",
			"(4,1,50-59,183,chol,190.5)",
			"(5,2,18-29,10,chol,)",
			"(6,3,18-29,0,chol,160)",
			"(7,3,18-29,0,sbp,13000)",
			"(8,3,18-29,0,dbp,80)",
		},
		"SELECT e::text FROM events e ORDER BY id": {"(1,3,0,nafld)", "(2,4,-1287,htn)", "(3,4,-1226,ang/isc)"},
		"SELECT age_group || ' ' || avg(value) FROM labs WHERE test = 'chol' GROUP BY age_group ORDER BY age_group": {
			"18-29 160", "50-59 152",
		},
	} {
		if diff := cmp.Diff(want, query(t, conn, sql)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}

func TestReadStudyRefusesOtherFiles(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"columns": {"nafld1.csv", "id,age\n1,50\n", `nafld1.csv has the columns ["id" "age"]`},
		"empty":   {"nafld2.csv", "", "nafld2.csv has the columns []"},
		"number":  {"nafld2.csv", "id,days,test,value\n1,0,chol,1\n1,x,chol,1\n", "nafld2.csv, line 3"},
		"ragged":  {"nafld3.csv", "id,days,event\n1,0\n", "nafld3.csv, line 2"},
		"huge":    {"nafld3.csv", "id,days,event\n1,3000000000,htn\n", "value out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(invented)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := demo.ReadStudy(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestOpenStudyWithoutR puts nothing, or a script in R's place, on the path.
func TestOpenStudyWithoutR(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		needsR bool
		want   string
	}{
		"no R":       {"", true, "r-base-core and r-cran-survival"},
		"no package": {"#!/bin/sh\nexit 3\n", true, "r-base-core and r-cran-survival"},
		"R fails":    {"#!/bin/sh\necho no such object\nexit 1\n", false, "no such object"},
		"no output":  {"#!/bin/sh\n", false, "nafld1.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			path, temporary := t.TempDir(), t.TempDir()
			t.Setenv("PATH", path)
			t.Setenv("TMPDIR", temporary)
			if c.script != "" {
				if err := os.WriteFile(filepath.Join(path, "Rscript"), []byte(c.script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			_, err := demo.OpenStudy(t.Context())
			if errors.Is(err, demo.ErrNeedsR) != c.needsR || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			if left, _ := os.ReadDir(temporary); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestOpenStudy reads the real study. Its data are under the GPL, so they cannot be
// in this repository: the test needs R's copy, and it is the only one here that does
// not run everywhere.
func TestOpenStudy(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	s, err := demo.OpenStudy(t.Context())
	if errors.Is(err, demo.ErrNeedsR) {
		needs.Missing(t, err.Error(), "r-base-core", "r-cran-survival")
	}
	if err != nil {
		t.Fatal(err)
	}
	c := s.Counts
	got := []int64{c.People.Loaded, c.Labs.Loaded, c.Events.Loaded, c.People.Dropped, c.Labs.Dropped, c.Events.Dropped, c.MostLabs}
	if diff := cmp.Diff([]int64{17_549, 400_123, 34_340, 0, 0, 0, 513}, got); diff != "" {
		t.Errorf("people, labs, events, three times dropped, most labs (-want +got):\n%s", diff)
	}
	expectDeclaredKeys(t, demo.NAFLD, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
