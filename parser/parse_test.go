package parser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
)

// FuzzParse: no text makes the parser panic, every statement's text is where it
// says, and whatever is released parses again once its places are filled, as does
// the content of each block.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\nparse")[1:] {
			_, part, _ = strings.Cut(part, "\n")
			sql, _, _ := strings.Cut(part, "\n----")
			f.Add(sql)
		}
	}
	both := append(append(parsertest.Schema{}, parsertest.Clinic...), parsertest.Shop...)
	f.Fuzz(func(t *testing.T, sql string) {
		script, err := parser.Parse(sql, both)
		if err != nil {
			asError(t, err)
			return
		}
		for _, s := range script.Statements {
			if sql[s.Offset:s.Offset+len(s.Text)] != s.Text {
				t.Errorf("text at %d is not %q", s.Offset, s.Text)
			}
			if s.Class == parser.Refused && s.Refusal == nil {
				t.Error("refused without a reason")
			}
			if s.Class != parser.Release && s.Class != parser.Explain {
				continue
			}
			if len(s.Blocks) == 0 && s.Let == nil {
				t.Error("released without a block")
			}
			if s.Let != nil {
				bound(t, s)
			}
			for _, block := range s.Blocks {
				wellFormed(t, s, block)
			}
			for _, spliced := range []string{s.Splice(empty), s.SpliceInner(empty), s.InnerText()} {
				if _, err := parser.Tokens(spliced); err != nil || !parses(spliced) {
					t.Errorf("%q does not parse", spliced)
				}
			}
		}
	})
}

// bound reports a binding or a body that does not parse, or has bytes from outside of the statement.
func bound(t *testing.T, s *parser.Statement) {
	t.Helper()
	check := func(text parser.Text, origin func(at int) int) {
		sql := text.SQL
		if !parses(sql) {
			t.Errorf("%q of %q does not parse", sql, s.Text)
		}
		for at := range sql {
			if of := origin(at); of < 0 || of >= len(s.Text) {
				t.Errorf("byte %d of %q is at %d in %q", at, sql, of, s.Text)
			}
		}
	}
	var results []parser.Constants
	for _, b := range s.Let.Bindings {
		check(b.Query(results), func(at int) int { return b.Origin(at, results) })
		result := "NULL"
		switch b.As { //nolint:exhaustive // the others are values
		case parser.AsRows, parser.AsList:
			result = "VALUES (NULL)"
		case parser.AsArray:
			result = "NULL"
		case parser.AsTable:
			result = "(VALUES (NULL))"
		}
		results = append(results, parser.Constants{SQL: result})
	}
	check(s.Let.Body(results), func(at int) int { return s.Let.Origin(at, results) })
}

// wellFormed reports a block whose tree has gaps, or offsets outside of the statement.
func wellFormed(t *testing.T, s *parser.Statement, block *ast.Block) {
	t.Helper()
	offsets := []int{block.At}
	for _, p := range s.Protected {
		offsets = append(offsets, p.At)
	}
	if block.Err != nil {
		offsets = append(offsets, max(block.Err.Position-1, 0))
	} else {
		if text := printBlock(block); !parses(text) {
			t.Errorf("%q holds %q, which does not parse", s.Text, text)
		}
		for _, g := range block.Groups {
			offsets = append(offsets, g.Pos())
		}
		for _, a := range block.Aggregates {
			offsets = append(offsets, a.Pos())
		}
	}
	for _, at := range offsets {
		if at < 0 || at > len(s.Text) {
			t.Errorf("offset %d is outside of %q", at, s.Text)
		}
	}
}

func empty(int) string { return "(SELECT)" }

// parses reports whether the text is SQL: a text that is not is one relayed
// statement, so that a second one behind it goes unseen.
func parses(sql string) bool {
	script, err := parser.Parse(sql+"\n;SELECT 1", parsertest.Clinic)
	return err != nil || len(script.Statements) > 1
}

const aggregateQuery = "SELECT p.region, count(*), avg(v.cost), sum(v.qty) FROM visits v JOIN patients p ON p.id = v.patient_id " +
	"WHERE v.day >= '2020-03-01' AND v.diagnosis = 'flu' GROUP BY p.region HAVING count(*) > 10 ORDER BY 2 DESC"

func BenchmarkParse(b *testing.B) {
	for name, sql := range map[string]string{
		"count":      "SELECT count(*) FROM visits",
		"grouped":    "SELECT region, count(*) FROM patients GROUP BY region",
		"join":       aggregateQuery,
		"expression": "SELECT extract(year from day) AS y, count(*) FROM visits GROUP BY extract(year from day) ORDER BY 1",
		"relayed":    "SELECT a, b FROM t WHERE c = 1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parser.Parse(sql, parsertest.Clinic); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
