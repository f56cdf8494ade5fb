package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Change has the flags and files of go test for a module with points.
type Change struct {
	Replace map[string]string // files and their replacements, for an overlay
	Modfile string            // for go's flag -modfile; "": the module's own go.mod
	Points  int
	Files   int
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
	Module                  *struct {
		Path, Dir, Version string
		Replace            *struct{ Path string }
	}
	Error *struct{ Err string }
}

// Module adds points to the packages of a module that the tests in a folder build, and writes the results into the
// folder to. The module is the tests' own or a dependency. Its imports are compiled with the overlay that the tests
// will use.
func Module(ctx context.Context, folder, module, to, overlay string) (Change, error) {
	packages, err := list(ctx, folder, "-test", "-overlay="+overlay, "./...")
	if err != nil {
		return Change{}, err
	}
	exports := map[string]string{}
	var ours []listed
	known := map[string]bool{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if p.Module != nil {
			known[p.Module.Path] = true
			// A test's variant of a package, "p [p.test]", has the same files and more.
			if p.Module.Path == module && !strings.ContainsAny(p.ImportPath, " ") && !strings.HasSuffix(p.ImportPath, ".test") {
				ours = append(ours, p)
			}
		}
	}
	switch {
	case strings.HasPrefix(points, module+"/"):
		return Change{}, fmt.Errorf("%s is the harness itself", module)
	case len(ours) == 0:
		return Change{}, fmt.Errorf("%s: the tests build no package of such a module, only of %s", module, names(known))
	}
	c := Change{Replace: map[string]string{}}
	for _, p := range ours {
		if err := c.rewrite(p, exports, filepath.Join(to, "points")); err != nil {
			return c, err
		}
	}
	if c.Points == 0 {
		return c, fmt.Errorf("%s has no operation that other goroutines can see", module)
	}
	cache, err := goEnv(ctx, folder, "GOMODCACHE")
	if err != nil || !strings.HasPrefix(ours[0].Dir, cache+string(filepath.Separator)) {
		return c, err
	}
	return c, c.copyModule(ctx, folder, ours[0], to) // go accepts no overlay for files in its cache
}

func names(set map[string]bool) string {
	var all []string
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// list returns packages with all their dependencies, compiled.
func list(ctx context.Context, folder string, patterns ...string) (all []listed, err error) {
	args := []string{"list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,ImportMap,Module,Error"}
	out, err := run(ctx, folder, append(args, patterns...)...)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
}

func goEnv(ctx context.Context, folder, name string) (string, error) {
	out, err := run(ctx, folder, "env", name)
	return strings.TrimSpace(string(out)), err
}

func run(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, err
}

// rewrite writes a package's files with points and records their replacements.
func (c *Change) rewrite(p listed, exports map[string]string, to string) error {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	check := types.Config{Importer: compiled(set, exports, p.ImportMap)}
	if _, err := check.Check(p.ImportPath, set, files, info); err != nil {
		return fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	for i, f := range files {
		from := filepath.Join(p.Dir, p.GoFiles[i])
		source, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		text, n := rewritten(set, f, source, info)
		if n == 0 {
			continue
		}
		copied := filepath.Join(to, filepath.FromSlash(p.ImportPath), p.GoFiles[i])
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(copied, text, 0o644); err != nil {
			return err
		}
		c.Replace[from] = copied
		c.Points, c.Files = c.Points+n, c.Files+1
	}
	return nil
}

// compiled imports packages from the export data of go list.
func compiled(set *token.FileSet, exports, mapped map[string]string) types.Importer {
	return importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		file := exports[cmp.Or(mapped[path], path)]
		if file == "" {
			return nil, fmt.Errorf("%s was not compiled", path)
		}
		return os.Open(file)
	})
}

// copyModule copies a module with the rewritten files, and writes a go.mod that uses the copy.
func (c *Change) copyModule(ctx context.Context, folder string, p listed, to string) error {
	gomod, err := goEnv(ctx, folder, "GOMOD")
	if err != nil {
		return err
	}
	if work, err := goEnv(ctx, folder, "GOWORK"); err != nil || work != "" && work != "off" {
		return errors.Join(err, fmt.Errorf("%s is in a workspace, which accepts no other go.mod: set GOWORK=off", gomod))
	}
	copied := filepath.Join(to, "module")
	err = filepath.WalkDir(p.Module.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.Module.Dir, path)
		if err != nil {
			return err
		}
		from := path
		if changed := c.Replace[path]; changed != "" {
			from = changed
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(copied, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(copied, name), text, 0o644)
	})
	if err != nil {
		return err
	}
	c.Replace = map[string]string{}
	c.Modfile = filepath.Join(to, "go.mod")
	text, err := os.ReadFile(gomod)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Modfile, text, 0o644); err != nil {
		return err
	}
	if _, err := run(ctx, folder, "mod", "edit", "-replace="+p.Module.Path+"@"+p.Module.Version+"="+copied,
		c.Modfile); err != nil {
		return err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(gomod, ".mod") + ".sum")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o644)
}
