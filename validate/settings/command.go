package settings

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sleepArgument is one argument of sleep(1).
var sleepArgument = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([smhd]?)$`)

var sleepUnits = map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// sleepTime is how long sleep(1) takes with these arguments.
func sleepTime(args []string) (time.Duration, bool) {
	var sum time.Duration
	for _, arg := range args {
		m := sleepArgument.FindStringSubmatch(arg)
		if m == nil {
			return 0, false
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n > 1e6 {
			return 0, false
		}
		sum += time.Duration(n * float64(sleepUnits[m[2]]))
	}
	return sum, len(args) > 0
}

// commandLine is what a server's command says.
type commandLine struct {
	sleep     time.Duration // before the server begins
	overrides []Directive
	config    *ConfigFile // that it names, nil if it names none
	server    string      // the program, "" if it is not named
	script    bool        // of a shell
	unsure    string      // what of it could not be read, so that it may wait or set more
	open      string      // what it sets by a variable whose value is not known
}

// sleepFirst is the shell's way to keep a server away at every start.
var sleepFirst = regexp.MustCompile(`(?s)^\s*sleep\s+([0-9.]+[smhd]?)\s*(?:&&|;|\n)\s*(.*)$`)

// assigns is a variable that a shell sets for one command.
var assigns = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// unwrapped leaves out what starts a command without a change of it: an init for
// containers, another user, variables of its environment.
func unwrapped(words []string) []string {
	for len(words) > 1 {
		switch name := filepath.Base(words[0]); {
		case assigns.MatchString(words[0]), name == "exec", name == "docker-entrypoint.sh":
			words = words[1:]
		case name == "env" && !strings.HasPrefix(words[1], "-"):
			words = words[1:]
		case (name == "gosu" || name == "su-exec") && len(words) > 2:
			words = words[2:]
		case name == "tini" || name == "dumb-init":
			for words = words[1:]; len(words) > 1 && strings.HasPrefix(words[0], "-"); {
				words = words[1:]
			}
		default:
			return words
		}
	}
	return words
}

// readCommand reads the words of a command.
func readCommand(at Place, words []string) commandLine {
	var c commandLine
	if words = unwrapped(words); len(words) == 0 {
		return c
	}
	name := filepath.Base(words[0])
	if (name == "sh" || name == "bash" || name == "ash") && len(words) == 3 && strings.HasPrefix(words[1],
		"-") && strings.HasSuffix(words[1], "c") {
		return readScript(at, words[2])
	}
	switch name {
	case "redis-server", "valkey-server":
		c.server = words[0]
		c.options(at, words[1:])
	case "docker-entrypoint.sh":
	default:
		if strings.HasPrefix(words[0], "--") || strings.HasSuffix(words[0], ".conf") {
			c.options(at, words)
			return c
		}
		if assigns.MatchString(words[0]) {
			name, _, _ = strings.Cut(words[0], "=") // the value may be a secret
		}
		c.unsure = fmt.Sprintf("the command %s (%s) is not known, and may wait before it starts the server", name, at)
	}
	return c
}

// readScript reads a shell command that may sleep first.
func readScript(at Place, script string) commandLine {
	var c commandLine
	if m := sleepFirst.FindStringSubmatch(script); m != nil {
		c.sleep, _ = sleepTime(m[1:2])
		script = m[2]
	}
	words, err := splitWords(strings.TrimSpace(script))
	if err == nil && len(words) > 0 && !strings.ContainsAny(strings.TrimSpace(script), "|&;<>`\n") && !strings.Contains(script, "$(") {
		inner := readCommand(at, words)
		if inner.open == "" {
			inner.script = true
			inner.sleep += c.sleep
			return inner
		}
	}
	c.unsure = fmt.Sprintf("the shell script (%s) is not read, and may wait or set more", at)
	return c
}

// options reads a server's arguments: a file, and options that outrank it.
func (c *commandLine) options(at Place, args []string) {
	if len(args) > 0 && (!strings.HasPrefix(args[0], "$") || strings.Contains(args[0], "/")) {
		c.config = configFile(at, args)
	}
	for i, word := range args {
		if file := i == 0 && strings.Contains(word, "/"); file || !strings.Contains(word, "$") {
			continue
		}
		option := word
		if i > 0 && !strings.HasPrefix(word, "--") {
			option = args[i-1]
		}
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(option, "--")), " ")
		if !strings.HasPrefix(option, "--") || !slices.Contains(harmless, name) || name == "dir" || name == "appenddirname" {
			c.open = fmt.Sprintf("its command has a variable (%s) whose value is not known here", at)
		}
	}
	if c.open == "" {
		c.overrides = overrides(at, args)
	}
}

// configFile is the file that a server's arguments begin with.
func configFile(at Place, args []string) *ConfigFile {
	if len(args) > 0 && args[0] == "-" {
		return &ConfigFile{Place: at, Path: "its standard input"}
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	return &ConfigFile{Place: at, Path: args[0]}
}

// overrides reads "--appendonly yes --save 60 1" after an optional file, as Redis does (main
// in server.c): an option's value may stand in the same word, and --save without one is
// save "".
func overrides(at Place, words []string) []Directive {
	var found []Directive
	for i, word := range words {
		last := len(found) - 1
		value := last >= 0 && len(found[last].Args) == 0 && found[last].Secret() // which may look like an option
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2 && !value:
			parts, err := splitWords(word[2:])
			if err != nil || len(parts) == 0 {
				parts = append(strings.Fields(word[2:]), "")
			}
			d := Directive{Place: at, Name: strings.ToLower(parts[0]), Args: parts[1:]}
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
