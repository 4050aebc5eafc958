package introspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/mirror/introspect"
)

func TestVersions(t *testing.T) {
	for version, want := range map[int]string{
		120022: "the protected database is Postgres 12; it must be 13 to 18: upgrade it",
		130000: "", 150018: "", 180099: "",
		190000: "the protected database is Postgres 19, which this dpproxy does not know; " +
			"it must be 13 to 18: use a dpproxy that knows Postgres 19",
	} {
		if got := message(introspect.CheckData(version)); got != want {
			t.Errorf("%d: %q, want %q", version, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFingerprintOfNotNull holds that a column that is NOT NULL again is as it was, and that one
// whose rows were not checked is not.
func TestFingerprintOfNotNull(t *testing.T) {
	conn := clinic(t, start(t))
	before := digests(t, conn)
	run(t, conn, "ALTER TABLE visits ALTER patient_id DROP NOT NULL")
	if cmp.Equal(before, digests(t, conn)) {
		t.Error("a column that may be NULL changed nothing")
	}
	run(t, conn, "ALTER TABLE visits ALTER patient_id SET NOT NULL")
	if diff := cmp.Diff(before, digests(t, conn)); diff != "" {
		t.Errorf("the fingerprint changed without reason:\n%s", diff)
	}
	notChecked := "ALTER TABLE visits ALTER patient_id DROP NOT NULL; ALTER TABLE visits ADD CONSTRAINT n NOT NULL patient_id NOT VALID"
	if since(t, conn, 18, notChecked) && cmp.Equal(before, digests(t, conn)) {
		t.Error("a column whose rows were not checked changed nothing")
	}
}
