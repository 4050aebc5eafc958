package operations_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
	"dpproxy/proxy/settings"
)

// TestDocumentedMirrorSettings holds that the lines for the mirror's postgresql.conf name all settings, and that
// sessions on a mirror that has them begin with the defaults all the same.
func TestDocumentedMirrorSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, lines []string
	for _, m := range regexp.MustCompile(`(?m)^dp\.([a-z_]+) = ''$`).FindAllStringSubmatch(string(text), -1) {
		names, lines = append(names, m[1]), append(lines, "dp."+m[1]+"=")
	}
	if !slices.Equal(names, settings.Names()) {
		t.Fatalf("the lines name %v, and the settings are %v", names, settings.Names())
	}
	site := sitetest.Make(t, sitetest.Options{Schema: sitetest.ClinicSchema, Policy: sitetest.ClinicPolicy, MirrorSettings: lines})
	ana := sitetest.Dial(t, site.Run(t).URL("ana"))
	shown := func() (list []string) {
		for _, name := range names {
			value := sitetest.Rows(t, ana, "SHOW dp."+name)
			if !strings.HasSuffix(value, " \t") {
				t.Errorf("a session begins with %q for dp.%s, which is no default of dpproxy's", value, name)
			}
			list = append(list, value)
		}
		return list
	}
	before := shown()
	sitetest.Exec(t, ana, "SET dp.epsilon = 0.5; SET dp.top = 'auto'; RESET dp.epsilon; RESET ALL")
	if after := shown(); !slices.Equal(before, after) {
		t.Errorf("behind a RESET a session has %q, and began with %q", after, before)
	}
	if rows := sitetest.Rows(t, ana, "SELECT name FROM pg_settings WHERE name LIKE 'dp.%'"); rows != "" {
		t.Errorf("pg_settings lists %s", rows)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)
}
