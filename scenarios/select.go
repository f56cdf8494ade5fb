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

// Select returns the scenarios that a user names: names of the catalogue, globs over these names ("aof-*"), or paths of
// files. No argument selects the whole catalogue. The result has the order of the arguments, without duplicates; the
// error joins the mistakes of all arguments.
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
			switch file, seen := files[s.Name]; {
			case !seen:
				files[s.Name] = s.File
				selected = append(selected, s)
			case file != s.File:
				problems = append(problems,
					fmt.Errorf("%s and %s are both named %q: results are stored by name, so rename one",
						file, s.File, s.Name))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return selected, nil
}

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

// catalogueText is the text of a scenario of the catalogue, nil for others.
func (s *Scenario) catalogueText() []byte {
	name := s.Name + ".yaml"
	if s.File != catalogueFolder+name {
		return nil
	}
	text, _ := files.ReadFile(name) // an error means a user's file in a folder of the same name
	return text
}

// InCatalogue reports whether the scenario belongs to the catalogue, so that commands accept its name.
func (s *Scenario) InCatalogue() bool { return s.catalogueText() != nil }

// Text reads the scenario's file again, from the catalogue or from disk.
func Text(s *Scenario) ([]byte, error) {
	if text := s.catalogueText(); text != nil {
		return text, nil
	}
	return input.Read(s.File, input.YAML)
}

func unknownNameError(arg string, names []string) error {
	const list = "`lockproof list` shows their names"
	if strings.ContainsAny(arg, "*?[") {
		return fmt.Errorf("no scenario matches %q; "+list, arg)
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name the files in it, for example %[1]s/*.yaml", arg)
	}
	if near := suggest.Names(arg, names); len(near) > 0 {
		return fmt.Errorf("unknown scenario %q; %s", arg, suggest.DidYouMean(near))
	}
	return fmt.Errorf("unknown scenario %q; "+list+"; a file needs its path, for example ./my.yaml", arg)
}

// isPath reports whether an argument is a file: it has a slash, a YAML suffix, or names an existing file.
func isPath(arg string) bool {
	if strings.ContainsRune(arg, '/') || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}
