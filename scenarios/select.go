package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/suggest"
)

// Select returns the scenarios that a user asks for: names of the catalogue,
// globs over these names ("aof-*"), or paths to files. No argument selects the
// whole catalogue. They come in the order of the arguments, each once; the
// error holds what is wrong with every argument.
func Select(args []string) ([]*Scenario, error) {
	all, err := Catalogue()
	if err != nil {
		return nil, err
	}
	return selectFrom(all, args)
}

func selectFrom(all []*Scenario, args []string) ([]*Scenario, error) {
	if len(args) == 0 {
		return all, nil
	}
	var selected []*Scenario
	var problems []error
	files := map[string]string{} // by the scenario's name
	for _, arg := range args {
		found, err := selectOne(arg, all)
		if err != nil {
			problems = append(problems, err)
		}
		for _, s := range found {
			switch file, taken := files[s.Name]; {
			case !taken:
				files[s.Name] = s.File
				selected = append(selected, s)
			case file != s.File:
				problems = append(problems,
					fmt.Errorf("%s and %s are both named %q: results go by name, so give one another name",
						file, s.File, s.Name))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return selected, nil
}

// selectOne finds what one argument stands for.
func selectOne(arg string, all []*Scenario) ([]*Scenario, error) {
	if isPath(arg) {
		s, err := Load(arg)
		if err != nil {
			return nil, err
		}
		return []*Scenario{s}, nil
	}
	if _, err := path.Match(arg, ""); err != nil {
		return nil, fmt.Errorf("%q is not a glob: a [ needs its ]", arg)
	}
	var found []*Scenario
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
		if matched, _ := path.Match(arg, s.Name); matched {
			found = append(found, s)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, unknownNameError(arg, names)
}

// catalogueText is the text of a scenario of the catalogue, nil of any other.
func (s *Scenario) catalogueText() []byte {
	name := s.Name + ".yaml"
	if s.File != catalogueFolder+name {
		return nil
	}
	text, _ := files.ReadFile(name) // none is somebody's file in a folder of this name
	return text
}

// InCatalogue reports whether the scenario is the catalogue's, which a command finds by its name.
func (s *Scenario) InCatalogue() bool { return s.catalogueText() != nil }

// Text reads the file that a scenario came from once more, of the catalogue or of a
// user's.
func Text(s *Scenario) ([]byte, error) {
	if text := s.catalogueText(); text != nil {
		return text, nil
	}
	return input.Read(s.File, input.YAML)
}

// unknownNameError is the error for a name or glob that matches nothing.
func unknownNameError(arg string, names []string) error {
	const list = "`lockproof list` shows their names"
	if strings.ContainsAny(arg, "*?[") {
		return fmt.Errorf("no scenario matches %q; "+list, arg)
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder, and no scenario has that name; name its files, for example %[1]s/*.yaml", arg)
	}
	if near := suggest.Names(arg, names); len(near) > 0 {
		return fmt.Errorf("unknown scenario %q; %s", arg, suggest.DidYouMean(near))
	}
	return fmt.Errorf("unknown scenario %q; "+list+", and a file is given by its path, for example ./my.yaml", arg)
}

// isPath tells a file from a name: it holds a slash, ends as YAML files do, or
// is there.
func isPath(arg string) bool {
	if strings.ContainsRune(arg, '/') || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}
