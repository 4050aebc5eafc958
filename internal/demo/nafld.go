package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNeedsR is the error of OpenStudy when R, or the package with the study, is not installed.
var ErrNeedsR = errors.New("demo: the nafld data are read from R: install the Debian packages r-base-core and r-cran-survival")

//go:embed nafld.R
var exportScript []byte

// exitNoPackage is nafld.R's exit status when R lacks the package.
const exitNoPackage = 3

// A Study is the Mayo Clinic's study of non-alcoholic fatty liver disease: nafld1,
// nafld2 and nafld3 of R's survival package, as people, labs and events. The data
// are under the GPL and part of an R installation; they are no part of this program.
//
// Two columns are the loader's own. labs and events get an id, in the order of the
// file; people and labs get an age_group ('18-29', '30-39', ... '80+') from the age
// at entry, so that a mean by age needs one table only.
//
// Nothing is corrected. In survival 3.5 the column chol repeats hdl, and dbp repeats sbp;
// Counts.Twins says so of the copy at hand.
type Study struct {
	// Counts says how many rows were read and left out.
	Counts StudyCounts

	dir  string
	owns bool
	// ages is the age at entry of each person that is loaded.
	ages map[int32]int32
}

var _ Source = (*Study)(nil)

// OpenStudy has R write the study into a temporary folder and reads it there. The
// caller closes the study, which removes the folder.
func OpenStudy(ctx context.Context) (*Study, error) {
	dir, err := os.MkdirTemp("", "dpproxy-nafld")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	s := &Study{dir: dir, owns: true}
	if err := s.export(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.survey(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes the temporary folder of OpenStudy.
func (s *Study) Close() error {
	if !s.owns {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// export runs R.
func (s *Study) export(ctx context.Context) error {
	script := filepath.Join(s.dir, "nafld.R")
	if err := os.WriteFile(script, exportScript, 0o600); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	out, err := exec.CommandContext(ctx, "Rscript", "--vanilla", script, s.dir).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &exit) && exit.ExitCode() == exitNoPackage:
		return ErrNeedsR
	default:
		return fmt.Errorf("demo: Rscript: %w\n%s", err, out)
	}
}

// Tables returns people, labs and events.
func (s *Study) Tables() []Table {
	person := "FOREIGN KEY (person_id) REFERENCES people"
	return []Table{
		{
			Name: "people",
			Columns: []Column{
				{"id", "int NOT NULL"},
				{"age", "int NOT NULL"},
				{"age_group", "text NOT NULL"},
				{"male", "boolean NOT NULL"},
				{"weight", "double precision"},
				{"height", "double precision"},
				{"bmi", "double precision"},
				{"case_id", "int"},
				{"futime", "int NOT NULL"},
				{"status", "int NOT NULL"},
			},
			Keys: []string{"PRIMARY KEY (id)"}, Total: s.Counts.People.Loaded, Rows: loaded(s.people()),
		},
		{
			Name: "labs",
			Columns: []Column{
				{"id", "int NOT NULL"},
				{"person_id", "int NOT NULL"},
				{"age_group", "text NOT NULL"},
				{"days", "int NOT NULL"},
				{"test", "text NOT NULL"},
				{"value", "double precision"},
			},
			Keys: []string{"PRIMARY KEY (id)", person}, Indexed: []string{"person_id"},
			Total: s.Counts.Labs.Loaded, Rows: loaded(s.labs()),
		},
		{
			Name: "events",
			Columns: []Column{
				{"id", "int NOT NULL"},
				{"person_id", "int NOT NULL"},
				{"days", "int NOT NULL"},
				{"event", "text NOT NULL"},
			},
			Keys: []string{"PRIMARY KEY (id)", person}, Indexed: []string{"person_id"},
			Total: s.Counts.Events.Loaded, Rows: loaded(s.events()),
		},
	}
}

// loaded leaves out the records that were dropped, which are rows of nil.
func loaded(rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if (row != nil || err != nil) && !yield(row, err) {
				return
			}
		}
	}
}
