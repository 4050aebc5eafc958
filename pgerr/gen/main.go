// Command gen writes docs/errors.md from the codes that package pgerr declares.
//
//	go run ./gen ../docs/errors.md
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"dpproxy/pgerr"
)

const heading = `# Errors

<!-- Generated from pgerr/codes.go by go generate. Do not edit. -->

Every error that dpproxy raises itself has one of these codes (SQLSTATE). Codes of
Postgres keep Postgres's meaning; class ` + "`PB`" + ` is about privacy. Errors of the
mirror database, such as a misspelt column name, are passed on as they are; errors
of the real database never are.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: gen FILE")
	}
	return os.WriteFile(args[0], page(pgerr.Descriptions()), 0o644)
}

// page renders the codes as two Markdown tables, privacy first.
func page(all []pgerr.Description) []byte {
	var privacy, postgres []pgerr.Description
	for _, d := range all {
		if strings.HasPrefix(d.Code.String(), "PB") {
			privacy = append(privacy, d)
		} else {
			postgres = append(postgres, d)
		}
	}
	var b bytes.Buffer
	b.WriteString(heading)
	table(&b, "Privacy", privacy)
	table(&b, "Postgres", postgres)
	return b.Bytes()
}

func table(b *bytes.Buffer, title string, rows []pgerr.Description) {
	fmt.Fprintf(b, "\n## %s\n\n| code | name | meaning |\n| --- | --- | --- |\n", title)
	for _, d := range rows {
		fmt.Fprintf(b, "| `%v` | %s | %s |\n", d.Code, d.Name, d.Meaning)
	}
}
