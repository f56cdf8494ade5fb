package settings

import (
	"regexp"
	"strings"
)

// secretNames are the directives whose value is a secret, and secretWords what says of a
// line that it may hold one, whatever file it is in.
var (
	secretNames = regexp.MustCompile(`(?i)requirepass|masterauth|primaryauth|key-file-pass`)
	secretWords = regexp.MustCompile(`(?i)auth-pass|passw|passphrase|pwd|_pass\b|secret|token|credential|apikey|api_key|` +
		`REDISCLI_AUTH|redis-cli\b.*\W-a\b|--pass\b|://[^/\s]*@|^\s*user\s`)
	secretKind = regexp.MustCompile(`["']?\bkind["']?:\s*["']?Secret\b`) // also as an item of a List
)

// secrets are the values of directives that must not be told.
func secrets(directives []Directive) (values []string) {
	for _, d := range directives {
		if d.Secret() && d.Name != "user" && len(d.Args) > 0 && d.Args[0] != "" {
			values = append(values, d.Args...)
		}
	}
	return values
}

// holdsSecret reports whether a line may hold a secret.
func holdsSecret(line string, values []string) bool {
	for _, v := range values {
		if strings.Contains(line, v) {
			return true
		}
	}
	return secretNames.MatchString(line) || secretWords.MatchString(line)
}

// secretLines are the lines of a text that may hold a secret: by their own words, by those
// of the line before, as in a list with a word on each line, or in a Secret of Kubernetes.
func secretLines(text string, values []string) map[string]bool {
	found := map[string]bool{}
	for _, document := range strings.Split(text, "\n---") {
		whole, after := secretKind.MatchString(document), false
		for _, line := range strings.Split(document, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			holds := holdsSecret(line, values)
			if whole || holds || after {
				found[line] = true
			}
			after = holds
		}
	}
	return found
}

// hide puts Hidden in place of the secrets of a line, or of all of it where it cannot be
// told what of it is one.
func hide(line string, values []string) string {
	hidden := line
	for _, v := range values {
		hidden = strings.ReplaceAll(hidden, v, Hidden)
	}
	if secretWords.MatchString(hidden) || secretNames.MatchString(hidden) && hidden == line {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		return indent + Hidden + " (a line with a secret)"
	}
	return hidden
}
