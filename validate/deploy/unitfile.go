package deploy

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

type assignment struct {
	at         settings.Place
	key, value string // key with its section: "Service.RestartSec"
}

// unit has the lines of a systemd unit and its drop-ins, in order, and the links that its files break.
type unit struct {
	Chain
	file  string
	root  string // of its machine
	inUse bool   // it is in a folder of systemd
	lines []assignment
	// values are those of Environment=; if unreadable is set, an EnvironmentFile may outrank them.
	values     map[string]string
	unreadable bool
	mounts     []machineMount // of its machine
	starter    string         // the first timer or other unit that starts it, "" for none
	beside     []textFile     // other programs of the machine: services, cron jobs and tmpfiles.d
}

// last is the effective value of a key that takes one.
func (u *unit) last(key, otherwise string) assignment {
	for _, a := range slices.Backward(u.lines) {
		if a.key == key {
			return a
		}
	}
	return assignment{key: key, value: otherwise}
}

// all are the values of a key that takes several.
func (u *unit) all(key string) (found []assignment) {
	for _, a := range u.lines {
		if a.key == key {
			found = append(found, a)
		}
	}
	return found
}

// words are the words of all lines of a key, with specifiers expanded.
func (u *unit) words(key string) (found []string) {
	for _, a := range u.all(key) {
		words, err := unitWords(a.value)
		if err != nil { // readSystemd breaks a link for it
			words = strings.Fields(a.value)
		}
		for _, w := range words {
			w, _ = u.specified(w)
			found = append(found, w)
		}
	}
	return found
}

// yes reports whether a key's value is one of systemd's words for yes.
func (u *unit) yes(key string) bool {
	return slices.Contains([]string{"yes", "true", "on", "1", "y", "t", "disconnected"},
		strings.ToLower(u.last(key, "no").value))
}

// read adds the lines of a unit or a drop-in (systemd.syntax(7)).
func (u *unit) read(file, text string) error {
	section := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := settings.Place{File: file, Line: i + 1}
		parts := []string{strings.TrimSpace(lines[i])}
		for last := parts[0]; continued(last) && i+1 < len(lines); {
			if i++; isComment(lines[i]) { // the line continues after a comment
				continue
			}
			parts[len(parts)-1] = strings.TrimSuffix(last, `\`)
			last = strings.TrimSpace(lines[i])
			parts = append(parts, last)
		}
		line := strings.Join(parts, " ")
		if line == "" || isComment(line) {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			section = line[1 : len(line)-1]
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == "" {
			return &settings.Problem{Place: at, What: "this is not a line of a unit",
				Right: "write [Service], and below it Key=value"}
		}
		key = section + "." + strings.TrimSpace(key)
		if value = strings.TrimSpace(value); value == "" {
			u.reset(at, key)
			continue
		}
		u.lines = append(u.lines, assignment{at, key, value})
		if key == "Service.TimeoutSec" { // sets both timeouts (systemd.service(5))
			u.lines = append(u.lines, assignment{at, "Service.TimeoutStartSec", value},
				assignment{at, "Service.TimeoutStopSec", value})
		}
	}
	return nil
}

// resettable are keys of which an empty value removes all values so far: lists, and texts.
var resettable = regexp.MustCompile(`^(?:Install|Mount|Manager)\.|^Service\.(?:Exec|Environment|SystemCall|` +
	`Capability|Ambient|Supplementary|(?:User|Group|PIDFile|WorkingDirectory)$|\w+(?:Paths|Directories|Directory)$)`)

// reset takes an empty value. Those of [Unit] add to what is there, and what becomes of any other is not documented.
func (u *unit) reset(at settings.Place, key string) {
	has := func(a assignment) bool { return a.key == key }
	switch {
	case resettable.MatchString(key):
		u.lines = slices.DeleteFunc(u.lines, has)
	case strings.HasPrefix(key, "Service.") && slices.ContainsFunc(u.lines, has):
		u.unknown(Settings, at, strings.TrimPrefix(key, "Service.")+"= without a value", "leave the value before it")
	}
}

// continued reports whether a line continues on the next one: a comment does not, nor a line that ends with an escaped
// backslash.
func continued(line string) bool {
	return !isComment(line) && (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// doubleQuoted is a quoted text that systemd and Redis read alike.
var doubleQuoted = regexp.MustCompile(`"(?:[^"\\]|\\["\\])*"`)

// unitWords splits a line as systemd does. A line with an escape that Redis does not have is an error.
func unitWords(line string) ([]string, error) {
	if strings.Contains(doubleQuoted.ReplaceAllString(line, ""), `\`) {
		return nil, errEscapes
	}
	return settings.SplitWords(line)
}

var errEscapes = errors.New("there are escapes")

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";")
}

var (
	spanPart = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Zµ]*)`)
	// spanUnits are the units of systemd.time(7).
	spanUnits = map[string]time.Duration{
		"": time.Second, "us": time.Microsecond, "µs": time.Microsecond, "usec": time.Microsecond, "ms": time.Millisecond,
		"msec": time.Millisecond,
		"s":    time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second, "m": time.Minute,
		"min":    time.Minute,
		"minute": time.Minute, "minutes": time.Minute, "h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	}
)

var errSpan = errors.New("this is not a time span")

// forever stands for infinity. Trials wait for the whole delay, so longer times are errors.
const forever = 24 * time.Hour

func parseTimeSpan(text string) (sum time.Duration, err error) {
	if text == "infinity" {
		return forever, nil
	}
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := spanPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, errSpan
		}
		n, err := strconv.ParseFloat(m[1], 64)
		unit, known := spanUnits[m[2]]
		if err != nil || !known || n*float64(unit) > float64(forever) {
			return 0, errSpan
		}
		sum += time.Duration(n * float64(unit))
		rest = rest[len(m[0]):]
	}
	if text == "" || sum >= forever {
		return 0, errSpan
	}
	return sum, nil
}

var specifier = regexp.MustCompile(`%.`)

// specified expands specifiers (systemd.unit(5), Specifiers) for a unit of the system's manager. Those that depend on
// the machine stay, and are not known: a pipe does not show the unit's name, and %I and %P unescape - to /.
func (u *unit) specified(word string) (written string, known bool) {
	base := filepath.Base(u.file)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	prefix, instance, template := strings.Cut(name, "@")
	values := map[string]string{"%%": "%", "%t": "/run", "%S": "/var/lib", "%C": "/var/cache", "%L": "/var/log",
		"%E": "/etc", "%T": "/tmp", "%V": "/var/tmp"}
	named := map[string]string{"%p": prefix, "%P": prefix, "%n": base, "%N": name, "%i": instance, "%I": instance}
	for letters, value := range named {
		if escaped := strings.ContainsAny(letters, "PI") && strings.ContainsAny(value, `-\`); value != "" && !escaped &&
			!isPipe(u.file) {
			values[letters] = value
		}
	}
	known = true
	return specifier.ReplaceAllStringFunc(word, func(s string) string {
		if value, found := values[s]; found {
			return value
		}
		known = known && template && instance == "" && strings.ToLower(s) == "%i"
		return s
	}), known
}

// expanded expands a command's specifiers, and words that are a variable of the unit: $NAME gives several words, and
// ${NAME} one (systemd.service(5), Command Lines). Any other variable stays.
func (u *unit) expanded(words []string) (all []string) {
	for _, word := range words {
		word, _ = u.specified(word)
		name, alone := strings.CutPrefix(word, "$")
		braced := strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}")
		if braced {
			name = name[1 : len(name)-1]
		}
		value, set := u.values[name]
		switch several, err := unitWords(value); {
		case !alone || !set || u.unreadable || !braced && err != nil:
			all = append(all, word)
		case braced:
			all = append(all, value)
		default:
			all = append(all, several...)
		}
	}
	return all
}
