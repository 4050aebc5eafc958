package shape

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is one package as "go list" describes it.
type listed struct {
	ImportPath, Name, Dir, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, Deps                      []string
	Module                             *struct {
		Path string
		Main bool
	}
}

// list describes the packages of the module in dir, and compiles whatever they import: the
// export data of a compiled package is all that the type checker needs of it.
func list(ctx context.Context, dir string) (own []listed, exports map[string]string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-export",
		"-json=ImportPath,Name,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps,Module", "./...")
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(stdout.String())); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return own, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
}

// checked is a package whose identifiers are resolved. Tests are left out.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

// checker checks packages one after the other, and reads their imports once for all.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
}

func newChecker(exports map[string]string) checker {
	fset := token.NewFileSet()
	return checker{fset, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
}

// check parses and type-checks a package.
func (k checker) check(p listed) (checked, error) {
	c := checked{fset: k.fset, info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(k.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return c, err
		}
		c.files = append(c.files, f)
	}
	conf := types.Config{Importer: k.importer}
	var err error
	c.pkg, err = conf.Check(p.ImportPath, k.fset, c.files, c.info)
	return c, err
}
