package local_test

import (
	"os"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestConversation plays testdata/conversation: how tables are found, the price of a survey before it is taken, and the replies of one that
// cannot be taken, or that some have not answered.
func TestConversation(t *testing.T) {
	const file = "testdata/conversation"
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
	r := s.Run(t)
	golden(t, file, play(t, r, file))
	if strings.Contains(r.Log.String(), "was taken over") {
		t.Error("a survey counts as a change of the schema, for which log-ins are refused meanwhile")
	}
}

// mark is before each statement of a conversation.
const mark = "> "

// play has psql run the statements of a file as ana, and returns them with the replies, without blanks at the ends of lines.
func play(t *testing.T, r *sitetest.Running, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for line := range strings.Lines(string(text)) {
		if statement, ok := strings.CutPrefix(line, mark); ok {
			quoted := strings.ReplaceAll(strings.TrimSpace(line), "'", "''")
			script.WriteString("\\echo '" + quoted + "'\n\\echo ----\n" + statement)
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
	return got.String()
}

// golden compares a text with a file, or writes it there with -rewrite.
func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if !sitetest.Rewriting() {
		t.Fatalf("psql prints\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
}
