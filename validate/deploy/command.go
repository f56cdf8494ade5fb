package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

func words(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return plainWords(v)
	case []any:
		var all []string
		for _, word := range v {
			all = append(all, fmt.Sprint(word))
		}
		if slices.Contains(v, nil) {
			return nil, errors.New("an empty item, which needs quotes")
		}
		return all, nil
	}
	return nil, errors.New("a value that is neither a text nor a list")
}

// joinWords are the words of an entrypoint and its arguments. An error is put in front of a text that it does not
// understand, so that no program is recognised.
func joinWords(parts ...any) (all []string) {
	for _, part := range parts {
		one, err := words(part)
		if err != nil {
			one = append([]string{"with " + err.Error()}, strings.Fields(fmt.Sprint(part))...)
		}
		all = append(all, one...)
	}
	return all
}

// plainWords splits a text that compose, the engines and a shell split alike. At a shell operator outside of quotes
// compose cuts the text off.
func plainWords(line string) ([]string, error) {
	if strings.ContainsAny(outsideQuotes(line), ";&|<>`") {
		return nil, errors.New("there are a shell's signs outside of quotes")
	}
	return unitWords(line)
}

// commandLine is a parsed command that starts a server.
type commandLine struct {
	sleep     time.Duration // before the server begins
	options   []settings.Directive
	config    string // the file in its arguments, "" for none
	server    string // the program, "" if an image supplies it
	wrong     string // the part that was not understood, "" for a recognised command
	open      string // an option whose value is an unset variable
	usesImage bool   // it runs the official entrypoint
}

// sleepArgument is a time that sleep and systemd read alike.
var sleepArgument = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?[smhd]?$`)

func sleepTime(args []string) (sum time.Duration, ok bool) {
	for _, arg := range args {
		one, err := parseTimeSpan(arg)
		if sum += one; err != nil || !sleepArgument.MatchString(arg) {
			return 0, false
		}
	}
	return sum, len(args) > 0 && sum < forever
}

var (
	// assigns is a variable that a shell sets for one command. The dynamic loader's variables change the program.
	assigns = regexp.MustCompile(`^([A-Za-z_]\w*)=`)
	// sleepFirst is a script that delays the server at every start.
	sleepFirst = regexp.MustCompile(`(?s)^\s*sleep\s+([0-9.]+[smhd]?)\s*(?:&&|;|\n)\s*(.*)$`)
	// plainShell is a script of one command: words, quotes, and variables in double quotes.
	plainShell = regexp.MustCompile(`[|&;<>` + "`" + `\n*?\[\]{}~#!]|\$\(|\\`)
)

// isSystemProgram reports whether a program is a bare name, or in a folder of the system's packages. A script of the
// same name elsewhere may do anything.
func isSystemProgram(program string) bool {
	return !strings.Contains(program, "/") || ownPrograms.MatchString(program)
}

var ownPrograms = regexp.MustCompile(`^(?:/usr|/usr/local)?/s?bin/[^/]+$|^/usr/libexec/[^/]+$`)

// wrappers start a command without changing its settings or data. The value is the number of their own words before it.
var wrappers = map[string]int{"exec": 0, "env": 0, "gosu": 1, "su-exec": 1, "tini": 0, "dumb-init": 0}

var serverNames = []string{"redis-server", "valkey-server"}

// script returns the script of sh -c.
func script(words []string) (text string, ok bool) {
	if len(words) != 3 || !isSystemProgram(words[0]) ||
		!slices.Contains([]string{"sh", "bash", "ash", "dash"}, filepath.Base(words[0])) {
		return "", false
	}
	return words[2], shellFlags.MatchString(words[1])
}

// shellFlags are those of a shell that reads no profile.
var shellFlags = regexp.MustCompile(`^-[eux]*c[eux]*$`)

func readCommand(at settings.Place, words []string) (c commandLine) {
	for len(words) > 0 {
		name := filepath.Base(words[0])
		own, known := wrappers[name]
		switch m := assigns.FindStringSubmatch(words[0]); {
		case sets(words[0]):
			words = words[1:]
			continue
		case m != nil:
			return commandLine{wrong: "the variable " + m[1]}
		case name == "docker-entrypoint.sh" && isSystemProgram(words[0]):
			c.usesImage, words = true, words[1:]
			continue
		}
		if !known || !isSystemProgram(words[0]) {
			break
		}
		if words = words[1:]; len(words) > 1 && words[0] == "--" {
			words = words[1:]
		}
		if len(words) <= own || strings.HasPrefix(words[0], "-") {
			return commandLine{wrong: "these words of " + name}
		}
		words = words[own:]
	}
	if len(words) == 0 {
		return c
	}
	if text, ok := script(words); ok {
		return c.script(at, text)
	}
	name := filepath.Base(words[0])
	switch {
	case slices.Contains(serverNames, name) && isSystemProgram(words[0]):
		c.server, words = words[0], words[1:]
	case slices.Contains(serverNames, name):
		return commandLine{wrong: "the program " + words[0] + ", which is in none of the system's folders"}
	case strings.HasPrefix(words[0], "-") || strings.HasSuffix(words[0], ".conf"):
	default:
		c.wrong = "the command " + name
		return c
	}
	c.arguments(at, words)
	return c
}

// script reads a script that may sleep first, and then starts the server by one plain command.
func (c commandLine) script(at settings.Place, text string) commandLine {
	if m := sleepFirst.FindStringSubmatch(text); m != nil {
		sleep, ok := sleepTime(m[1:2])
		if !ok {
			return commandLine{wrong: "a time to sleep"}
		}
		c.sleep, text = sleep, m[2]
	}
	text, known := substituted(strings.TrimSpace(text))
	words, err := settings.SplitWords(text)
	if err != nil || len(words) == 0 || !known || plainShell.MatchString(outsideQuotes(text)) {
		return commandLine{wrong: "a shell script", sleep: c.sleep}
	}
	inner := readCommand(at, words)
	inner.sleep += c.sleep
	if inner.open != "" {
		return commandLine{wrong: "a shell script with a variable among its options"}
	}
	return inner
}

// outsideQuotes removes quoted text, except for the substitutions that a shell performs in double quotes.
func outsideQuotes(text string) string {
	var b strings.Builder
	quote := rune(0)
	for _, r := range text {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 || quote == '"' && (r == '`' || r == '$' || r == '(' || r == '\\'):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// arguments reads a server's arguments: a file, and options that outrank it.
func (c *commandLine) arguments(at settings.Place, args []string) {
	if len(args) > 0 && (args[0] == "-" || !strings.HasPrefix(args[0], "-")) {
		c.config, args = args[0], args[1:]
		if c.config == "-" {
			c.wrong = "settings from standard input"
		}
		if strings.Contains(c.config, "$") && !strings.Contains(c.config, "/") {
			c.wrong, c.config = "the variable "+c.config+" among its arguments", ""
		}
	}
	c.options = options(at, args)
	for i, word := range args {
		lines := strings.ContainsAny(strings.TrimSpace(word), "\r\n") // Redis reads each line of an option as a directive
		if len(c.options) == 0 || i == 0 && !strings.HasPrefix(word, "--") || lines {
			c.wrong = "the argument " + strconv.Itoa(i+1) + " of the server"
		}
	}
	c.dropVariables()
}

// dropVariables removes the options whose value is an unset variable, and records one that matters.
func (c *commandLine) dropVariables() {
	for i, d := range c.options { // in Redis 7 the next option may be its value, and a last - means standard input
		last := i == len(c.options)-1
		if len(d.Args) == 0 && !last && !d.Secret() || last && len(d.Args) > 0 && d.Args[len(d.Args)-1] == "-" {
			c.wrong = "the value of --" + d.Name
		}
	}
	c.options = slices.DeleteFunc(c.options, func(d settings.Directive) bool {
		variable := slices.ContainsFunc(d.Args, func(w string) bool { return strings.Contains(w, "$") }) ||
			strings.Contains(d.Name, "$")
		if variable && (!settings.Harmless(d.Name) || len(d.Args) > 1) {
			c.open = fmt.Sprintf("the value of --%s is a variable that nothing here sets", d.Name)
			return true
		}
		return false
	})
}

// options reads "--appendonly yes --save 60 1" as Redis does (main in server.c): an option's value may stand in the
// same word, and --save without one is save "".
func options(at settings.Place, words []string) (found []settings.Directive) {
	for i, word := range words {
		last := len(found) - 1
		value := last >= 0 && len(found[last].Args) == 0 && found[last].Secret() // a secret may look like an option
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2 && !value:
			parts, err := settings.SplitWords(word[2:])
			if err != nil || len(parts) == 0 {
				parts = append(strings.Fields(word[2:]), "")
			}
			d := settings.Directive{Place: at, Name: strings.ToLower(parts[0]), Args: parts[1:]}
			if before, _, joined := strings.Cut(d.Name, "="); joined { // the value may be a secret
				d.Name = before + "="
			}
			if d.Name == "save" && len(d.Args) == 0 && (i+1 == len(words) || strings.HasPrefix(words[i+1], "--")) {
				d.Args = []string{""}
			}
			found = append(found, d)
		case last >= 0:
			found[last].Args = append(found[last].Args, word)
		}
	}
	return found
}

func (s *Server) run(at settings.Place, c commandLine) {
	s.program = c.server
	s.CommandPlace, s.overrides = at, append(s.overrides, c.options...)
	switch {
	case c.wrong != "":
		s.unknown(Program, at, c.wrong, "start the server with other settings, wait, or touch its data")
	default:
		s.establish(Program, at, "it is started as %s", cmp.Or(c.server, "redis-server by its image's entrypoint"))
	}
	if c.open != "" {
		s.unknown(Settings, at, c.open, "be any value")
	}
	if c.config != "" {
		s.config = &configFile{place: at, path: c.config}
		s.ConfigPath = c.config
	}
}
