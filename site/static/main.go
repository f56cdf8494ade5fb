package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"example.org/lockproof/docs/guide"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/lab/exercise"
	"example.org/lockproof/site"
	"example.org/lockproof/site/chapters"
	"example.org/lockproof/site/front"
)

func main() {
	out := flag.String("out", filepath.Join("out", "site"), "the folder to replace")
	url := flag.String("url", "", "where the site will be, for the pictures of shared links: https://example.org/locks/")
	flag.Parse()
	if err := run(*out, *url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// card is the picture of a shared link; its address must be absolute.
var card = regexp.MustCompile(`content="(\.\./)*assets/card\.png"`)

func run(out, url string) error {
	e, err := buildEngine()
	if err != nil {
		return err
	}
	all, err := makeAll(context.Background(), e)
	if err != nil {
		return err
	}
	if url != "" {
		for name, data := range all {
			all[name] = card.ReplaceAll(data, []byte(`content="`+strings.TrimSuffix(url, "/")+`/assets/card.png"`))
		}
	}
	if err := write(out, all); err != nil {
		return err
	}
	fmt.Printf("%d files in %s; the engine is %.1f MB, gzipped. Open %s, or put the folder on any web server.\n",
		len(all), out, float64(len(e.module))/1e6, filepath.Join(out, "index.html"))
	return nil
}

// makeAll makes all files of the site, by path.
func makeAll(ctx context.Context, e *engine) (map[string][]byte, error) {
	all := assets(e)
	first, err := front.Files(ctx, suite.Run)
	if err != nil {
		return nil, err
	}
	mod, err := goOutput("env", "GOMOD")
	if err != nil {
		return nil, err
	}
	locks, err := chapters.LocksIn(os.DirFS(filepath.Dir(mod)))
	if err != nil {
		return nil, err
	}
	maps.Copy(all, locks)
	maps.Copy(all, first)
	s := site.New(suite.Run, false)
	s.Guide = chapters.Page
	known, err := lab.Catalogue()
	if err != nil {
		return nil, err
	}
	paths := []string{"lab/index.html", "exercises/index.html", "stories/index.html"}
	for _, c := range guide.All() {
		paths = append(paths, "guide/"+c.Name+".html")
	}
	for _, c := range known {
		paths = append(paths, "lab/"+c.Name+".html", "stories/"+c.Name+".html")
	}
	for _, l := range exercise.Levels() {
		paths = append(paths, "exercises/"+l.Name+".html")
	}
	var wrong error
	for _, p := range paths {
		page := s.Answer(ctx, site.Request{Path: p})
		if page.Status >= 300 {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %s", p, page.Body))
		}
		all[p] = page.Body
	}
	return all, wrong
}

// assets are the files that pages load. The engine is there as a file and as scripts, since a page opened from a folder
// may load only scripts.
func assets(e *engine) map[string][]byte {
	all := map[string][]byte{
		"assets/engine.wasm.gz": e.module,
		"assets/module.js":      []byte(`self.lockproofModule = "` + base64.StdEncoding.EncodeToString(e.module) + "\";\n"),
		"assets/worker.js":      script("lockproofWorker", e.worker),
	}
	for name, data := range site.Assets() {
		all["assets/"+name] = data
	}
	return all
}

// script assigns a text to a variable.
func script(variable string, text []byte) []byte {
	quoted, _ := json.Marshal(string(text)) // text always marshals
	return fmt.Appendf(nil, "self.%s = %s;\n", variable, quoted)
}

// write replaces the folder by these files.
func write(out string, all map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	var errs []error
	for name, data := range all {
		file := filepath.Join(out, filepath.FromSlash(name))
		errs = append(errs, os.MkdirAll(filepath.Join(out, filepath.FromSlash(path.Dir(name))), 0o755),
			os.WriteFile(file, data, 0o644))
	}
	return errors.Join(errs...)
}
