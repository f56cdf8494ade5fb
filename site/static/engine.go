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

// engine is the program that makes the pages, and its worker.
type engine struct {
	module []byte // WebAssembly, gzipped
	worker []byte // the worker's script: Go's support code and ours
}

// buildEngine compiles the engine with the go command. The current folder must be in the engine's module.
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
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the engine cannot be built: %w: %s", err, output)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e := &engine{}
	if e.module, err = gzipped(module); err != nil {
		return nil, err
	}
	e.worker, err = workerScript()
	return e, err
}

// workspaceIn writes a go.work that replaces go-redis by a copy with one changed file, see conn_check.txt. Without it 9
// of 156 histories differ, and one verdict.
func workspaceIn(dir string) (file string, err error) {
	const module = "github.com/redis/go-redis/v9"
	original, err := goOutput("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "go-redis")
	if err := os.CopyFS(changed, os.DirFS(original)); err != nil {
		return "", err
	}
	check := filepath.Join(changed, "internal", "pool", "conn_check_dummy.go")
	if _, err := os.Stat(check); err != nil {
		return "", fmt.Errorf("go-redis is not as it was, and one seed might give another history in a browser: %w", err)
	}
	mod, err := goOutput("env", "GOMOD")
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("go %s\n\nuse %q\n\nreplace %s => %q\n", strings.TrimPrefix(runtime.Version(), "go"),
		filepath.Dir(mod), module, changed)
	file = filepath.Join(dir, "go.work")
	return file, errors.Join(os.Remove(check), os.WriteFile(check, connCheck, 0o644),
		os.WriteFile(file, []byte(text), 0o644))
}

// overlayIn writes an overlay for the go command that replaces a file of text/template.
func overlayIn(dir string) (overlay string, err error) {
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return "", err
	}
	original, changed := filepath.Join(root, "src", "text", "template", "exec.go"), filepath.Join(dir, "exec.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if text, err = withoutMethods(text); err != nil {
		return "", fmt.Errorf("%s: %w", original, err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err, os.WriteFile(changed, text, 0o644), os.WriteFile(overlay, list, 0o644))
}

// methodLookup is text/template's lookup of methods by name. Because of it the linker keeps all exported methods of all
// types, thousands of go-redis's alone: 8.1 MB gzipped with it, 6.2 without.
var methodLookup = []byte(`	if method := ptr.MethodByName(fieldName); method.IsValid() {
		return s.evalCall(dot, method, false, node, fieldName, args, final)
	}
`)

// withoutMethods removes the lookup; the engine's templates call no methods.
func withoutMethods(text []byte) ([]byte, error) {
	if bytes.Count(text, methodLookup) != 1 {
		return nil, errors.New("this release of Go looks for methods elsewhere, and the engine would be half as large again")
	}
	return bytes.Replace(text, methodLookup, []byte("	_ = ptr\n"), 1), nil
}

// workerScript is the worker's script: Go's support code for WebAssembly, and ours.
func workerScript() ([]byte, error) {
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	original, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	return append(append(original, '\n'), worker...), nil
}

// goOutput runs the go command and returns its trimmed output.
func goOutput(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
