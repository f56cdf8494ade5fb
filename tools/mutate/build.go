package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"slices"
	"strings"
)

// target is a package with its edits in a test binary.
type target struct {
	name, dir, binary string
	flags             []string // of the test binary
	edits             []edit
}

// listed is a package in the output of go list.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles, TestImports          []string
	XTestImports                  []string
}

// build makes the test binary of a package in a folder, with all edits in it.
func build(pattern, folder string) (*target, error) {
	packages, err := list(pattern)
	if err != nil {
		return nil, err
	}
	own := packages[len(packages)-1] // its dependencies come first
	s := &target{name: own.ImportPath, dir: own.Dir, binary: filepath.Join(folder, "tests"),
		flags: []string{"-test.short"}}
	if slices.Contains(append(own.TestImports, own.XTestImports...), "pgregory.net/rapid") {
		s.flags = append(s.flags, "-rapid.nofailfile") // a failure under one edit must not run first for the next
	}
	replaced, err := s.instrument(own, packages, folder)
	if err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return nil, err
	}
	command := exec.Command("go", "test", "-c", "-vet=off", "-overlay", file, "-o", s.binary, own.ImportPath)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", own.ImportPath, err, out)
	}
	return s, nil
}

// list returns a package after all its dependencies.
func list(pattern string) ([]listed, error) {
	command := exec.Command("go", "list", "-export", "-deps",
		"-json=Dir,ImportPath,Name,Export,GoFiles,TestImports,XTestImports", pattern)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// instrument writes the package's files with the edits into a folder. It returns the replacements by original file.
func (s *target) instrument(own listed, packages []listed, folder string) (map[string]string, error) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range own.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(own.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		for _, p := range packages {
			if p.ImportPath == path {
				return os.Open(p.Export)
			}
		}
		return nil, fmt.Errorf("no package %s", path)
	})}
	if _, err := config.Check(own.ImportPath, files, parsed, info); err != nil {
		return nil, err
	}
	replaced := map[string]string{}
	for i, f := range parsed {
		name := filepath.Join(own.Dir, own.GoFiles[i])
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r := &rewriter{files: files, info: info, source: source, next: func(at token.Pos, from, to string) int {
			s.edits = append(s.edits, edit{len(s.edits) + 1, files.Position(at), oneLine(from), oneLine(to)})
			return len(s.edits)
		}}
		replaced[name] = filepath.Join(folder, own.GoFiles[i])
		if err := os.WriteFile(replaced[name], []byte(r.within(f, f.FileStart, f.FileEnd)), 0o600); err != nil {
			return nil, err
		}
	}
	added := filepath.Join(folder, "mutate_helpers.go")
	replaced[filepath.Join(own.Dir, "mutate_helpers.go")] = added
	return replaced, os.WriteFile(added, fmt.Appendf(nil, helpers, own.Name, len(s.edits)+1), 0o600)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
