package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/wording"
	"example.org/lockproof/scenarios"
)

// Name names the scenario of a find by property, lock and schedule number, in words joined by single hyphens.
func (s *Search) Name(f Find) string {
	lock := strings.Trim(notWords.ReplaceAllString(strings.ToLower(s.Space.Lock), "-"), "-")
	return fmt.Sprintf("%s-of-%s-%d", f.Property, lock, f.Number)
}

var notWords = regexp.MustCompile(`[^a-z0-9]+`)

// Scenario is what a find's file has: a correct lock keeps the property.
func (s *Search) Scenario(f Find) *scenarios.Scenario {
	from := fmt.Sprintf("lockproof explore, schedule %d of seed %d", f.Number, s.Seed)
	if s.Space.Exhaust {
		from = fmt.Sprintf("lockproof explore --exhaust, schedule %d of %d", f.Number, s.Schedules)
	}
	out := f.Shrunk.Scenario(s.Name(f), map[string]string{f.Property: history.Holds})
	out.Title = "What breaks " + f.FindID.String()
	out.Source = []string{fmt.Sprintf("found by %s, from %d steps", from, len(f.Drawn.Steps))}
	out.Lesson = "The smallest schedule that is known to break it. " + f.Violation.What + "."
	if s.Space.Lock != locks.Reference { // the default
		out.Lock.Name = s.Space.Lock
	}
	if len(s.Space.Without) > 0 {
		out.Variants = []scenarios.Variant{{Without: s.Space.Without,
			Expect: map[string]string{f.Property: history.Violated}}}
	}
	return out
}

// Text writes a find as a scenario file.
func (s *Search) Text(f Find) []byte {
	return Text(s.Scenario(f), "To repeat it: "+s.Repeat(f, s.Name(f)+".yaml"))
}

// Repeat is the command that runs a find's file.
func (s *Search) Repeat(f Find, path string) string {
	return fmt.Sprintf("lockproof run %s --seed %d%s", wording.Quote(path), f.Seed, s.Flags)
}

// Write writes a find's file into a folder, and loads it as a check.
func (s *Search) Write(f Find, folder string) (path string, read *scenarios.Scenario, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", nil, err
	}
	path = filepath.Join(folder, s.Name(f)+".yaml")
	if err := os.WriteFile(path, s.Text(f), 0o644); err != nil {
		return "", nil, err
	}
	read, err = scenarios.Load(path)
	return path, read, err
}
