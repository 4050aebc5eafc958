// Command print measures the packages of the module in a folder and prints a table of them.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"dpproxy/internal/shape"
)

func main() {
	dir := flag.String("C", ".", "folder of the module")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

// run prints the table; deadcode is the command that prints unreachable functions, one a line
// as "folder/file.go:line:column: ...", and may be missing.
func run(ctx context.Context, out io.Writer, dir string, deadcode []string) error {
	packages, err := shape.Measure(ctx, dir)
	if err != nil {
		return err
	}
	dead := map[string]int{}
	if len(deadcode) > 0 {
		if dead, err = unreachable(ctx, dir, deadcode); err != nil {
			return err
		}
	}
	table := []string{"package\tcode\ttests\tfiles\tcircle\tagainst order\twidest type\tp90\tlongest\tunreachable\t" +
		"what/1000 words\tlines > 140"}
	total := shape.Package{Path: "together"}
	for _, p := range packages {
		table = append(table, row(p, dead[p.Path]))
		total.CodeLines += p.CodeLines
		total.TestLines += p.TestLines
		total.Files = append(total.Files, p.Files...)
		total.Functions = append(total.Functions, p.Functions...)
		total.Words += p.Words
		total.Whats += p.Whats
		total.LongLines += p.LongLines
		dead[total.Path] += dead[p.Path]
	}
	slices.SortFunc(total.Functions, func(a, b shape.Function) int { return b.Lines - a.Lines })
	table = append(table, row(total, dead[total.Path]))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, strings.Join(table, "\n")); err != nil {
		return err
	}
	return w.Flush()
}

func row(p shape.Package, dead int) string {
	circle, against, widest, p90, longest := "-", "-", "-", "-", "-"
	if len(p.Order) > 0 && len(p.Unordered()) == 0 {
		against = fmt.Sprintf("%d %% (%d of %d)", p.AgainstShare(), p.Against, p.Uses)
	}
	if n := len(p.Circle); n > 0 {
		circle = fmt.Sprintf("%d %% (%d)", p.CircleShare(), n)
	}
	if len(p.Types) > 0 {
		t := p.Types[0]
		most := slices.MaxFunc(p.Types, func(a, b shape.Type) int { return cmp.Compare(a.Files, b.Files) })
		widest = fmt.Sprintf("%s: %d in %d files", t.Name, t.Methods, t.Files)
		if most.Files > t.Files {
			widest += fmt.Sprintf("; %s: %d in %d", most.Name, most.Methods, most.Files)
		}
	}
	if n := len(p.Functions); n > 0 {
		p90 = fmt.Sprint(p.Functions[n/10].Lines)
		longest = fmt.Sprintf("%d %s", p.Functions[0].Lines, p.Functions[0].Name)
	}
	format := "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%.1f\t%d"
	return fmt.Sprintf(format, p.Path, p.CodeLines, p.TestLines, len(p.Files),
		circle, against, widest, p90, longest, dead, 1000*float64(p.Whats)/float64(max(1, p.Words)), p.LongLines)
}

// unreachable counts the functions that deadcode prints, by package.
func unreachable(ctx context.Context, dir string, command []string) (map[string]int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(out)) {
		file, _, _ := strings.Cut(line, ":")
		count[file[:max(0, strings.LastIndex(file, "/"))]]++
	}
	return count, nil
}
