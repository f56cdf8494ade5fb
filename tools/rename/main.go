package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the folder of the repository")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "give the new module path, as in make rename MODULE="+example)
		os.Exit(64)
	}
	changed, err := rename(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d files name %s now\n", changed, flag.Arg(0))
}

const example = "github.com/you/lockproof"

// placeholder is the repository's name as an action in documents, until it is published.
const placeholder = "your-org/lockproof"

var (
	moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)
	modulePath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$`)
)

// rename changes the path of the module in a folder, and returns the number of changed files.
func rename(root, module string) (changed int, err error) {
	if !modulePath.MatchString(module) {
		return 0, fmt.Errorf("invalid module path %q: want a host with a dot and a path, for example %s", module, example)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	line := moduleLine.FindSubmatch(text)
	if line == nil {
		return 0, errors.New("go.mod has no line that begins with module")
	}
	folders, files, err := list(root)
	if err != nil {
		return 0, err
	}
	edit := editor(string(line[1]), module, folders)
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return changed, err
		}
		after := edit(file, before)
		if bytes.Equal(before, after) {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return changed, err
		}
		if err := os.WriteFile(file, after, info.Mode().Perm()); err != nil {
			return changed, err
		}
		changed++
	}
	return changed, nil
}

// generated are the folders of build results.
var generated = []string{".git", "bin", "out", "dist", "node_modules"}

// list returns the top folders of packages, and all files.
func list(root string) (folders, files []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && filepath.Dir(path) == filepath.Clean(root) && slices.Contains(generated, d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		files = append(files, path)
		below, err := filepath.Rel(root, path)
		first, _, deeper := strings.Cut(filepath.ToSlash(below), "/")
		if deeper && strings.HasSuffix(path, ".go") && !slices.Contains(folders, first) {
			folders = append(folders, first)
		}
		return err
	})
	return folders, files, err
}

// editor changes the module's path in the text of a file. It ignores names that could be the program or a folder: only
// imports, existing packages and modules in Go's commands count.
func editor(old, module string, folders []string) func(file string, text []byte) []byte {
	name := regexp.QuoteMeta(old)
	before := `(^|[^\w./@$}-])`
	packages := regexp.MustCompile(`(?m)` + before + name + `(/(?:` + strings.Join(folders, "|") + `)\b)`)
	commands := regexp.MustCompile(`(?m)` + before + name + `((?:/[\w/]+)?(?:@v\d|=\.\.| v\d+\.\d| => |$))`)
	imports := regexp.MustCompile(`"` + name + `/`)
	return func(file string, text []byte) []byte {
		if bytes.ContainsRune(text, 0) {
			return text
		}
		text = packages.ReplaceAll(text, []byte("${1}"+module+"${2}"))
		switch {
		case strings.HasSuffix(file, ".go"):
			text = imports.ReplaceAll(text, []byte(`"`+module+`/`))
		case filepath.Base(file) == "go.mod":
			text = commands.ReplaceAll(text, []byte("${1}"+module+"${2}"))
		case strings.HasSuffix(file, ".md"):
			text = goLines.ReplaceAllFunc(text, func(line []byte) []byte {
				return commands.ReplaceAll(line, []byte("${1}"+module+"${2}"))
			})
		}
		if repository, on := strings.CutPrefix(module, "github.com/"); on {
			text = bytes.ReplaceAll(text, []byte(placeholder), []byte(repository))
		}
		return text
	}
}

// goLines are a document's lines with parts of a go.mod file.
var goLines = regexp.MustCompile(`(?m)^.*\b(?:go mod|require|replace) .*$`)
