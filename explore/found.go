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

// About describes a find for its scenario file: a correct lock keeps the property.
func (s *Search) About(f Find) About {
	from := fmt.Sprintf("lockproof explore, schedule %d of seed %d", f.Number, s.Seed)
	if s.Space.Exhaust {
		from = fmt.Sprintf("lockproof explore --exhaust, schedule %d of %d", f.Number, s.Schedules)
	}
	return About{
		Name:     s.Name(f),
		Title:    "What breaks " + f.FindID.String(),
		Source:   fmt.Sprintf("found by %s, from %d steps", from, len(f.Drawn.Steps)),
		Lesson:   "The smallest schedule that is known to break it. " + f.Violation.What + ".",
		Lock:     s.Space.Lock,
		Expect:   map[string]string{f.Property: history.Holds},
		Without:  s.Space.Without,
		Property: f.Property,
	}
}

// Text writes a find as a scenario file.
func (s *Search) Text(f Find) []byte {
	about := s.About(f)
	if about.Lock == locks.Reference {
		about.Lock = "" // the default
	}
	return f.Shrunk.Text(about, "To repeat it: "+s.Repeat(f, about.Name+".yaml"))
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
