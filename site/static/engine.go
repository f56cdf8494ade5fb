package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed conn_check.txt
var connCheck []byte

//go:embed worker.js
var worker []byte

// engine is the program that answers the pages, with what starts it.
type engine struct {
	module []byte // WebAssembly, gzipped
	worker []byte // the script of its worker: Go's own, and ours
}

// buildEngine compiles the engine with the go command, in whose module the present folder is.
func buildEngine() (*engine, error) {
	dir, err := os.MkdirTemp("", "lockproof-engine-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := overlayIn(dir)
	if err != nil {
		return nil, err
	}
	workspace, err := workspaceIn(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "engine.wasm")
	cmd := exec.Command("go", "build", "-overlay", overlay, "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-o", file, "example.org/lockproof/site/engine")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=js", "GOARCH=wasm", "GOWORK="+workspace)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the engine cannot be built: %w: %s", err, said)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e := &engine{}
	if e.module, err = zipped(module); err != nil {
		return nil, err
	}
	e.worker, err = workerScript()
	return e, err
}

// workspaceIn writes a go.work into a folder that has go-redis from there: a copy in which one
// file is another, see conn_check.txt. Without it 9 of 156 histories differ, and one verdict.
func workspaceIn(dir string) (file string, err error) {
	const module = "github.com/redis/go-redis/v9"
	theirs, err := goSays("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	ours := filepath.Join(dir, "go-redis")
	if err := os.CopyFS(ours, os.DirFS(theirs)); err != nil {
		return "", err
	}
	check := filepath.Join(ours, "internal", "pool", "conn_check_dummy.go")
	if _, err := os.Stat(check); err != nil {
		return "", fmt.Errorf("go-redis is not as it was, and one seed might give another history in a browser: %w", err)
	}
	mod, err := goSays("env", "GOMOD")
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("go %s\n\nuse %q\n\nreplace %s => %q\n", strings.TrimPrefix(runtime.Version(), "go"),
		filepath.Dir(mod), module, ours)
	file = filepath.Join(dir, "go.work")
	return file, errors.Join(os.Remove(check), os.WriteFile(check, connCheck, 0o644),
		os.WriteFile(file, []byte(text), 0o644))
}

// overlayIn writes into a folder what the go command reads in the place of text/template's own file.
func overlayIn(dir string) (overlay string, err error) {
	root, err := goSays("env", "GOROOT")
	if err != nil {
		return "", err
	}
	theirs, ours := filepath.Join(root, "src", "text", "template", "exec.go"), filepath.Join(dir, "exec.go")
	text, err := os.ReadFile(theirs)
	if err != nil {
		return "", err
	}
	if text, err = withoutMethods(text); err != nil {
		return "", fmt.Errorf("%s: %w", theirs, err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{theirs: ours}})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err, os.WriteFile(ours, text, 0o644), os.WriteFile(overlay, list, 0o644))
}

// lookUp is where text/template looks for a method by its name. For it the linker keeps all exported
// methods of all types, thousands of go-redis's alone: 8.1 MB gzipped with it, 6.2 without.
var lookUp = []byte(`	if method := ptr.MethodByName(fieldName); method.IsValid() {
		return s.evalCall(dot, method, false, node, fieldName, args, final)
	}
`)

// withoutMethods leaves that out; the engine's templates call none.
func withoutMethods(text []byte) ([]byte, error) {
	if bytes.Count(text, lookUp) != 1 {
		return nil, errors.New("this release of Go looks for methods elsewhere, and the engine would be half as large again")
	}
	return bytes.Replace(text, lookUp, []byte("	_ = ptr\n"), 1), nil
}

// workerScript is what the worker runs: Go's support for WebAssembly, and ours.
func workerScript() ([]byte, error) {
	root, err := goSays("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	theirs, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	return append(append(theirs, '\n'), worker...), nil
}

// goSays gives what the go command says, in one line.
func goSays(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func zipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
