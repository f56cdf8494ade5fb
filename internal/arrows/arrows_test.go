package arrows

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// module is the path in go.mod, which make rename changes.
var module = func() string {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}()

func TestRooms_ImportOnlyAllowedRooms(t *testing.T) {
	found := rooms(t)
	var listed []string
	for _, r := range table {
		require.NotContains(t, listed, r.name, "a room is listed once")
		may := strings.Fields(r.imports)
		require.Subset(t, listed, may, "what %s may import stands above it in the table", r.name)
		listed = append(listed, r.name)
		room, exists := found[r.name]
		if !exists {
			t.Errorf("the table has %s, which has no Go files", r.name)
			continue
		}
		for name, where := range room.imports {
			if !slices.Contains(may, name) {
				t.Errorf("%s imports %s, which the table does not allow %s", where, name, r.name)
			}
		}
		for _, name := range may {
			if room.imports[name] == "" {
				t.Errorf("the table allows %s to import %s, and it does not", r.name, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in the table of rooms", name)
		}
	}
}

// The package comment is in the file that readers open first.
func TestRooms_PackageCommentInDocGo(t *testing.T) {
	for name, room := range rooms(t) {
		begins := "Package " + room.pkg + " "
		if room.pkg == "main" {
			begins = "Command " + path.Base(name) + " "
		}
		require.True(t, strings.HasPrefix(room.docs["doc.go"], begins), "%s/doc.go begins with %q", name, "// "+begins+"...")
		require.Len(t, room.docs, 1, "%s has a package comment in doc.go and nowhere else", name)
	}
}

// A Linux clock needs the package for system calls.
func TestRedlock_ImportsOnlyTheStandardLibrary(t *testing.T) {
	require.Equal(t, []string{"golang.org/x/sys/unix"}, rooms(t)["redlock"].others)
}

func TestHarness_HasOnlyDocGo(t *testing.T) {
	require.Equal(t, 1, rooms(t)["harness"].files)
}

// room is the contents of one folder.
type room struct {
	pkg     string
	files   int
	docs    map[string]string // package comments, by file
	imports map[string]string // imported rooms, each with an importing file
	others  []string          // imported packages of other modules
}

// rooms reads every folder with Go files, except tests and other modules.
func rooms(t *testing.T) map[string]room {
	t.Helper()
	found := map[string]room{}
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // another package's tests remove their results meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(file, entry.Name())
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		add(found, filepath.ToSlash(below), tree)
		return nil
	}))
	return found
}

// skipped returns fs.SkipDir for a folder without rooms of this module.
func skipped(folder, name string) error {
	if folder == root {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
		return fs.SkipDir
	}
	if name == "testdata" || strings.HasPrefix(name, ".") {
		return fs.SkipDir
	}
	return nil
}

func add(found map[string]room, file string, tree *ast.File) {
	name := path.Dir(file)
	r, known := found[name]
	if !known {
		r = room{docs: map[string]string{}, imports: map[string]string{}}
	}
	r.pkg = tree.Name.Name
	r.files++
	if tree.Doc != nil {
		r.docs[path.Base(file)] = tree.Doc.Text()
	}
	for _, spec := range tree.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
		if of, ok := strings.CutPrefix(imported, module+"/"); ok {
			r.imports[of] = file
		} else if host, _, _ := strings.Cut(imported, "/"); strings.Contains(host, ".") {
			if !slices.Contains(r.others, imported) {
				r.others = append(r.others, imported)
			}
		}
	}
	found[name] = r
}
