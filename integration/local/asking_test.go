package local_test

import (
	"os"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestConversation plays testdata/conversation with psql: how tables are found, the price of a survey before it is taken, and the replies
// of one that cannot be taken, or that some have not answered. -rewrite writes the replies.
func TestConversation(t *testing.T) {
	const file, mark, reply = "testdata/conversation", "> ", "----"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
	r := s.Run(t)
	var script strings.Builder
	for line := range strings.Lines(string(text)) {
		if statement, ok := strings.CutPrefix(line, mark); ok {
			quoted := strings.ReplaceAll(strings.TrimSpace(line), "'", "''")
			script.WriteString("\\echo '" + quoted + "'\n\\echo " + reply + "\n" + statement)
		}
	}
	var got strings.Builder
	for line := range strings.Lines(psql(t, r, script.String())) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, mark) && got.Len() > 0:
			got.WriteString("\n")
		}
		got.WriteString(line + "\n")
	}
	if got.String() == string(text) {
		return
	}
	if !sitetest.Rewriting() {
		t.Fatalf("psql prints\n%s\nwant\n%s", got.String(), text)
	}
	if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
