package external

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
)

// Split splits a command line into words as a shell does: at blanks that are not in quotes or after a backslash. It
// expands nothing. Without a shell in between, the program receives our signals.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			in, quote = true, r
		case quote == 0 && unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("%s: the quote %c is not closed", line, quote)
	case escaped:
		return nil, fmt.Errorf("%s: nothing follows the backslash at its end", line)
	case in:
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("it names no program: 'python3 my_lock.py' is right")
	}
	return words, nil
}

// findProgram returns an error if a command's program does not exist.
func findProgram(command []string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("there is no program %s: %w", command[0], err)
	}
	return nil
}

// lockName is the default name of a lock: its program's file.
func lockName(command []string) string {
	for _, word := range command[1:] {
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			return filepath.Base(word)
		}
	}
	return filepath.Base(command[0])
}

// Fingerprint identifies the files in a command line: the program and, of an interpreter, the script. Files that they
// load are not part of it.
func Fingerprint(command []string) string {
	sum := sha256.New()
	for i, word := range command {
		if path, err := exec.LookPath(word); i == 0 && err == nil {
			word = path
		}
		fmt.Fprintf(sum, "%q\n", word)
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			text, err := os.ReadFile(word)
			fmt.Fprintf(sum, "%d %v\n%s", len(text), err, text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
