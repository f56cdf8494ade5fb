//go:build unix && !linux

package process

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// identify asks ps who a process is. lstart is a date of five words.
func identify(pid int) (Identity, error) {
	out, err := ps(pid, "lstart=,comm=")
	if err != nil {
		return Identity{}, err
	}
	words := strings.Fields(out)
	if len(words) < 6 {
		return Identity{}, fmt.Errorf("ps says of process %d: %q", pid, out)
	}
	return Identity{
		PID: pid, Started: strings.Join(words[:5], " "),
		Command: filepath.Base(strings.Join(words[5:], " ")),
	}, nil
}

// ThreadStates gives the state letter of a process; ps tells no more of its
// threads.
func ThreadStates(pid int) (string, error) {
	out, err := ps(pid, "state=")
	if err != nil {
		return "", err
	}
	return out[:1], nil
}

// ChildrenOf is for the preload shim, which is for Linux only.
func ChildrenOf(int) ([]Identity, error) { return nil, errors.ErrUnsupported }

func ps(pid int, columns string) (string, error) {
	out, err := exec.Command("ps", "-o", columns, "-p", strconv.Itoa(pid)).Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return "", fmt.Errorf("cannot run ps: %w", err)
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return "", errGone
	}
	return text, nil
}
