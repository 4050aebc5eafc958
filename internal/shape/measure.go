package shape

import (
	"cmp"
	"context"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Columns is the width of a long line. A tab counts as four columns.
const Columns = 140

// Package is the shape of one package. Circle, Types, Functions and words are of its code; tests
// count in TestLines alone.
type Package struct {
	Path      string     // in its module: "planner/scalar"
	Command   bool       // package main
	Files     []string   // of code
	Circle    []string   // the largest set of files that all use each other, over any number of steps
	Order     []string   // the files, as the comment of the package names them: from the ground up
	Uses      int        // of a file by another
	Against   int        // of Uses, of a file that is later in Order
	Types     []Type     // with methods, the widest first
	Functions []Function // the longest first
	Words     int        // of comments
	Whats     int        // of Words, the pronoun that stands for a noun
	CodeLines int
	TestLines int
	LongLines int      // of code and tests, wider than [Columns]
	Imports   []string // packages of the module
	Reaches   []string // packages of the module that it is linked with, itself included
}

// Type is a type that has methods.
type Type struct {
	Name    string
	Methods int
	Files   int // in which they are
}

// Function is a function or method with a body.
type Function struct {
	Name  string
	File  string
	Lines int
}

// Unordered lists the files of code, but doc.go, that Order lacks.
func (p Package) Unordered() (files []string) {
	for _, name := range p.Files {
		if name != "doc.go" && !slices.Contains(p.Order, name) {
			files = append(files, name)
		}
	}
	return files
}

// AgainstShare is the part of the uses that run against the order, in percent, rounded up.
func (p Package) AgainstShare() int {
	return (100*p.Against + p.Uses - 1) / max(1, p.Uses)
}

// CircleShare is the part of the package's files, in percent, that its largest circle holds;
// zero if no two files use each other.
func (p Package) CircleShare() int {
	if len(p.Circle) < 2 {
		return 0
	}
	return 100 * len(p.Circle) / len(p.Files)
}

// Measure reads the module in dir and returns its packages in the order of their paths.
func Measure(ctx context.Context, dir string) ([]Package, error) {
	own, exports, err := list(ctx, dir)
	if err != nil {
		return nil, err
	}
	k := newChecker(exports)
	var packages []Package
	for _, p := range own {
		m, err := measure(p, k)
		if err != nil {
			return nil, err
		}
		packages = append(packages, m)
	}
	slices.SortFunc(packages, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	return packages, nil
}

func measure(p listed, k checker) (Package, error) {
	root := p.Module.Path + "/"
	ours := func(paths []string) (all []string) {
		for _, path := range paths {
			if rest, ok := strings.CutPrefix(path, root); ok {
				all = append(all, rest)
			}
		}
		return all
	}
	m := Package{Path: strings.TrimPrefix(p.ImportPath, root), Command: p.Name == "main", Files: p.GoFiles, Imports: ours(p.Imports)}
	m.Reaches = append(ours(p.Deps), m.Path)
	c, err := k.check(p)
	if err != nil {
		return m, err
	}
	uses := c.uses()
	m.Circle = largestCircle(uses)
	m.Order = c.order()
	m.Uses, m.Against = against(uses, m.Order)
	m.Types, m.Functions = c.declared()
	m.Words, m.Whats = c.words()
	var long, longTests int
	if m.CodeLines, long, err = lines(p.Dir, p.GoFiles); err != nil {
		return m, err
	}
	m.TestLines, longTests, err = lines(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
	m.LongLines = long + longTests
	return m, err
}

// lines counts the lines of files, and the long ones.
func lines(dir string, names []string) (n, long int, err error) {
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return 0, 0, err
		}
		for line := range strings.Lines(string(src)) {
			n++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))+3*strings.Count(line, "\t") > Columns {
				long++
			}
		}
	}
	return n, long, nil
}

// uses has for each file the others of its package that declare something which it names: a
// constant, variable, function or type, a field, a method, the receiver of its own methods.
func (c checked) uses() map[string][]string {
	all := map[string][]string{}
	for _, f := range c.files {
		from := c.file(f)
		found := map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if obj := c.info.Uses[id]; obj != nil && obj.Pkg() == c.pkg && obj.Pos().IsValid() {
				found[filepath.Base(c.fset.Position(obj.Pos()).Filename)] = true
			}
			return true
		})
		delete(found, from)
		all[from] = slices.Sorted(maps.Keys(found))
	}
	return all
}

var fileName = regexp.MustCompile(`[a-z0-9_]+\.go\b`)

// order lists the files that the comments of the package name, in the order of their last mentions.
func (c checked) order() (files []string) {
	for _, f := range c.files {
		for _, name := range fileName.FindAllString(f.Doc.Text(), -1) {
			files = append(slices.DeleteFunc(files, func(file string) bool { return file == name }), name)
		}
	}
	return files
}

// against counts the uses of a file by another, and how many of them are of a file that is later in the order. Files that the
// order lacks are last.
func against(uses map[string][]string, order []string) (all, wrong int) {
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	for from, used := range uses {
		for _, to := range used {
			all++
			if place(to) > place(from) {
				wrong++
			}
		}
	}
	return all, wrong
}

// declared returns the types with methods and the functions.
func (c checked) declared() ([]Type, []Function) {
	var functions []Function
	methods, files := map[string]int{}, map[string]map[string]bool{}
	for _, f := range c.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name, file := fn.Name.Name, c.file(f)
			if typ := c.receiver(fn); typ != "" {
				name = typ + "." + name
				methods[typ]++
				if files[typ] == nil {
					files[typ] = map[string]bool{}
				}
				files[typ][file] = true
			}
			functions = append(functions, Function{name, file, c.fset.Position(fn.End()).Line - c.fset.Position(fn.Pos()).Line + 1})
		}
	}
	var all []Type
	for typ, n := range methods {
		all = append(all, Type{typ, n, len(files[typ])})
	}
	slices.SortFunc(all, func(a, b Type) int { return cmp.Or(b.Methods-a.Methods, cmp.Compare(a.Name, b.Name)) })
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Or(b.Lines-a.Lines, cmp.Compare(a.Name, b.Name)) })
	return all, functions
}

// receiver is the name of the type that a method belongs to.
func (c checked) receiver(fn *ast.FuncDecl) string {
	obj, _ := c.info.Defs[fn.Name].(*types.Func)
	if obj == nil || obj.Signature().Recv() == nil {
		return ""
	}
	typ := obj.Signature().Recv().Type()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	if named, ok := typ.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

var word = regexp.MustCompile(`[\pL\pN'’_]+`)

// words counts the words of comments, and the pronoun among them.
func (c checked) words() (words, whats int) {
	for _, f := range c.files {
		for _, group := range f.Comments {
			for _, w := range word.FindAllString(group.Text(), -1) {
				words++
				if strings.EqualFold(w, "what") {
					whats++
				}
			}
		}
	}
	return words, whats
}

func (c checked) file(f *ast.File) string { return filepath.Base(c.fset.Position(f.Pos()).Filename) }
