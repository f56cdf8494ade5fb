package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

type effect struct {
	known bool
	sleep time.Duration // without which it cannot succeed
	most  time.Duration // if every command runs
}

// effectOf recognises a command that runs before, after or beside a server: programs that make folders, set rights,
// sleep, query the server or stop it. A shell is recognised only around such commands.
func effectOf(words []string) effect {
	text, ok := script(words)
	if !ok {
		return effectOfOne(words)
	}
	text, ok = substituted(strings.TrimSpace(nowhere.ReplaceAllString(text, "")))
	// Joined by && alone, each command needs the end of the one before, and so does the script's success.
	chained := !strings.ContainsAny(outsideQuotes(text), "|;\n") && !strings.Contains(text, "exit")
	whole := effect{known: ok}
	for _, part := range shellParts(text) {
		part = brackets.ReplaceAllString(part, "test $1")
		words, err := settings.SplitWords(part)
		e := effectOfOne(words)
		if err != nil || plainShell.MatchString(outsideQuotes(part)) || !e.known {
			return effect{}
		}
		if !chained {
			e.sleep = 0
		}
		whole = effect{whole.known, whole.sleep + e.sleep, whole.most + e.most}
		chained = chained && !slices.Contains(words, "exec") // which ends the shell
	}
	return whole
}

// substituted replaces each $(command) of a shell's text by a variable. ok: the commands are known, and none sleeps.
func substituted(text string) (written string, ok bool) {
	ok = true
	return substitution.ReplaceAllStringFunc(text, func(found string) string {
		e := effectOf([]string{"sh", "-c", found[2 : len(found)-1]})
		ok = ok && e.known && e.most == 0
		return "$_"
	}), ok
}

// shellParts splits a script at the operators between its commands, outside of quotes.
func shellParts(text string) (parts []string) {
	if loneAnd.MatchString(text) { // in the background
		return []string{"&"}
	}
	var quote rune
	begin := 0
	for i, r := range text + ";" {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune("&|;\n", r):
			if part := strings.TrimSpace(text[begin:i]); part != "" {
				parts = append(parts, part)
			}
			begin = min(i+1, len(text))
		}
	}
	if quote != 0 || len(parts) == 0 {
		return []string{"&"}
	}
	return parts
}

func effectOfOne(words []string) effect {
	for len(words) > 0 && (words[0] == "exec" || sets(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return effect{}
	}
	name, args := filepath.Base(words[0]), words[1:]
	if !isSystemProgram(words[0]) {
		return effect{}
	}
	switch name {
	case "true", "false", "exit", "mkdir", "chown", "chmod", "chgrp", "test", "[", "setfacl", "sysctl", "echo", "grep",
		"cat", "hostname":
		return effect{known: !reloads(name, args)}
	case "install":
		return effect{known: slices.Contains(args, "-d") || slices.Contains(args, "--directory")}
	case "sleep":
		d, ok := sleepTime(args)
		return effect{known: ok, sleep: d, most: d}
	case "timeout":
		if _, ok := sleepTime(args[:min(1, len(args))]); ok {
			e := effectOfOne(args[1:])
			return effect{known: e.known && e.most == 0}
		}
	case "redis-cli", "valkey-cli":
		return redisCLI(args)
	case "kill":
		return effect{known: kills.MatchString(strings.Join(args, " "))}
	case "redis-shutdown", "valkey-shutdown": // runs redis-cli shutdown (Fedora's and RHEL's redis.rpm)
		return effect{known: true}
	}
	return effect{}
}

// sets reports whether a word sets a variable for its command, which is none that changes the program.
func sets(word string) bool {
	m := assigns.FindStringSubmatch(word)
	return m != nil && inert(m[1])
}

// reloads reports whether sysctl loads files, or has other arguments than vm. or net. settings.
func reloads(name string, args []string) bool {
	return name == "sysctl" && slices.ContainsFunc(args, func(a string) bool {
		return a != "-w" && !strings.HasPrefix(a, "vm.") && !strings.HasPrefix(a, "net.")
	})
}

var (
	nowhere = regexp.MustCompile(`\s*(?:[12&]?>\s*/dev/null|2>&1)`)
	// loneAnd is a command in the background.
	loneAnd = regexp.MustCompile(`(?:^|[^&])&(?:[^&]|$)`)
	// substitution is a command whose output a shell puts in its place.
	substitution = regexp.MustCompile(`\$\([^()]*\)`)
	// brackets are those of a test.
	brackets = regexp.MustCompile(`^\[ (.*) \]$`)
)

func redisCLI(args []string) effect {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if slices.Contains(allowed["redis-cli values"], args[0]) {
			n = 2
		} else if !slices.Contains(allowed["redis-cli switches"], args[0]) {
			return effect{}
		}
		args = args[min(n, len(args)):]
	}
	if len(args) == 0 {
		return effect{} // commands by standard input
	}
	switch command := strings.ToLower(args[0]); {
	case slices.Contains(allowed["redis-cli commands"], command):
		return effect{known: true}
	case command == "config" && len(args) > 1 && strings.EqualFold(args[1], "get"):
		return effect{known: true}
	case command == "cluster" && len(args) == 2 && slices.Contains([]string{"info", "nodes", "slots"},
		strings.ToLower(args[1])):
		return effect{known: true}
	case command == "shutdown":
		return effect{known: slices.Contains([]string{"", "save", "nosave"}, strings.ToLower(strings.Join(args[1:], " ")))}
	}
	return effect{}
}

// kills matches the arguments of kill that name processes by number.
var kills = regexp.MustCompile(`^(?:(?:-s|--signal) \S+ |-\S+ )?(?:(?:\$\{?MAINPID\}?|[0-9]+) ?)+$`)

// hook judges a command that an engine or a unit runs beside the server. An unknown one breaks the link for crashes.
func (s *Server) hook(at settings.Place, what string, words []string, name LinkName,
	crashes ...settings.Crash) effect {
	e := effectOf(words)
	if !e.known {
		program := ""
		if len(words) > 0 && !assigns.MatchString(words[0]) {
			program = " (" + filepath.Base(words[0]) + ")"
		}
		s.unknown(name, at, what+program, "change settings, remove data, or start and stop servers", crashes...)
	}
	return e
}
