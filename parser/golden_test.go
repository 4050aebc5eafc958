package parser_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
	"dpproxy/pgerr"
)

// TestGolden draws what becomes of each statement: its class, its blocks and
// the spliced text, or the refusal as a client sees it.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			catalog := parsertest.Clinic
			if d.HasArg("shop") {
				catalog = parsertest.Shop
			}
			script, err := parser.Parse(d.Input, catalog)
			if err != nil {
				return drawError(d.Input, asError(t, err))
			}
			var b strings.Builder
			for _, s := range script.Statements {
				drawStatement(&b, s)
			}
			return b.String()
		})
	})
}

func asError(t *testing.T, err error) *pgerr.Error {
	t.Helper()
	var e *pgerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error for a client: %v", err)
	}
	return e
}

var classes = map[parser.Class]string{
	parser.Relay: "relay", parser.Release: "release", parser.Explain: "explain",
	parser.Refused: "refused", parser.Empty: "empty", parser.Set: "set", parser.Execution: "execution",
}

func drawStatement(b *strings.Builder, s *parser.Statement) {
	fmt.Fprintf(b, "%s", classes[s.Class])
	if s.Form == parser.Utility {
		fmt.Fprintf(b, " utility")
	}
	for _, p := range s.Protected {
		fmt.Fprintf(b, " %s@%d", p.Name, p.At)
	}
	if s.Unless != nil {
		fmt.Fprintf(b, " unless %q.%q exists", s.Unless.Schema, s.Unless.Name)
	}
	b.WriteString("\n")
	switch s.Class {
	case parser.Relay, parser.Empty:
	case parser.Refused:
		b.WriteString(indent(drawError(s.Text, s.Refusal)))
	case parser.Set:
		fmt.Fprintf(b, "  %s = %q reset=%t at %d\n", s.Setting.Name, s.Setting.Value, s.Setting.Reset, s.Setting.At)
	case parser.Execution:
		x := s.Execute
		fmt.Fprintf(b, "  %s%q at %d-%d explained=%t measured=%t created=%t nodata=%t\n", x.Name, x.Args, x.At, x.End, x.Explained,
			x.Measured, x.Created, x.NoData)
	case parser.Release, parser.Explain:
		if s.Let != nil {
			drawLet(b, s.Let)
			return
		}
		for i, block := range s.Blocks {
			b.WriteString(indent(fmt.Sprintf("dp$%d:\n", i+1) + indent(drawBlock(s.Text, block))))
		}
		b.WriteString(indent("=> " + strings.TrimSpace(s.Splice(placeholder)) + "\n"))
		if s.Form == parser.Utility {
			b.WriteString(indent("inner => " + s.SpliceInner(placeholder) + "\n"))
		}
	}
}

// drawLet draws the bindings of a statement, and its body.
func drawLet(b *strings.Builder, l *parser.Let) {
	as := map[parser.As]string{
		parser.AsRows: "relation", parser.AsList: "list", parser.AsValue: "value", parser.AsGroups: "value of each group",
		parser.AsRanks: "rank", parser.AsTable: "table", parser.AsArray: "list, an array",
	}
	var names []parser.Constants
	for i, binding := range l.Bindings {
		names = append(names, parser.Constants{SQL: placeholder(i)})
		form := strings.Join(append([]string{as[binding.As]}, binding.Keys...), ", ")
		fmt.Fprintf(b, "  let %s, a %s, be %s\n", placeholder(i), form, binding.Query(names).SQL)
	}
	b.WriteString(indent("in " + l.Body(names).SQL))
}

func placeholder(i int) string { return fmt.Sprintf("<%d>", i+1) }

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

func drawBlock(text string, block *ast.Block) string {
	if block.Err != nil {
		return drawError(text, block.Err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "from %s\n", printedFrom(block.From))
	if block.Where != nil {
		fmt.Fprintf(&b, "where %s\n", printed(block.Where))
	}
	if block.Grouped {
		b.WriteString("grouped\n")
	}
	for i, g := range block.Groups {
		fmt.Fprintf(&b, "g%d %s\n", i+1, printed(g))
	}
	for i, a := range block.Aggregates {
		weight := ""
		if a.Weight != nil {
			weight = " weighs " + printed(a.Weight)
		}
		fmt.Fprintf(&b, "a%d %s%s\n", i+1, printed(a), weight)
	}
	for _, set := range block.Sets {
		fmt.Fprintf(&b, "set%s\n", numbered(set))
	}
	if block.Top != nil {
		fmt.Fprintf(&b, "top a%d limit %s\n", block.Top.Aggregate+1, printed(block.Top.Limit))
	}
	if r := block.Running; r != nil {
		fmt.Fprintf(&b, "running along g%d descending=%t alone=%t\n", r.Key+1, r.Descending, r.Alone)
	}
	for i, g := range block.Groupings {
		fmt.Fprintf(&b, "s%d grouping%s\n", i+1, numbered(g))
	}
	return b.String()
}

// numbered names grouping expressions by their columns.
func numbered(groups []int) string {
	names := make([]string, 0, len(groups))
	for _, i := range groups {
		names = append(names, fmt.Sprintf("g%d", i+1))
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// drawError writes an error as psql does, with a caret under its position.
func drawError(text string, e *pgerr.Error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Code, e.Message)
	if e.Position > 0 && len(text) < 2000 {
		at := e.Position - 1
		start := strings.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := strings.Cut(text[start:], "\n")
		fmt.Fprintf(&b, "%s\n%s^\n", line, strings.Repeat(" ", len([]rune(text[start:at]))))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", e.Hint)
	}
	return b.String()
}
