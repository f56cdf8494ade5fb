package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// startSlack is how much time a server has for its start after a sleep, where something
// ends a start that takes too long.
const startSlack = 60 // seconds

// SleepFirst gives the files with a sleep of whole seconds before each start of the server,
// in place of a shorter one, and what lets it sleep. The error says why the policy's file
// cannot be changed so.
func (f Files) SleepFirst(sleep time.Duration, p Policy) (Files, error) {
	seconds := int(sleep / time.Second)
	switch {
	case p.Kind == "":
		return nil, errors.New("no file is given that says what starts Redis")
	case p.start.unsure != "":
		return nil, errors.New(p.start.unsure)
	case p.Kind == Systemd:
		return f.unitSleeps(seconds, p)
	}
	sleeping, err := p.start.sleeping(seconds, p.ByImage)
	if err != nil {
		return nil, err
	}
	st, key := p.start, p.start.first
	if p.ByImage {
		key = st.second
	}
	changed, err := f.putBelow(p, []any{"sh", "-c", sleeping}, "image", key)
	if err == nil && !p.ByImage && st.values[st.second] != nil {
		changed, err = changed.putBelow(p, []any{}, "image", st.second)
	}
	if err != nil || p.ProbeLimit == 0 || p.ProbeLimit > time.Duration(seconds+startSlack)*time.Second {
		return changed, err
	}
	return changed.probeWaits(seconds, p)
}

// unitSleeps has a unit sleep for what it does not sleep already, and gives it time to.
func (f Files) unitSleeps(seconds int, p Policy) (Files, error) {
	var lines []string
	now := int(p.start.sleep / time.Second)
	if more := seconds - now; more > 0 {
		lines = append(lines, fmt.Sprintf("ExecStartPre=%s %d", Sleep, more))
		if p.SleepRefused {
			lines = append(lines, "ExecPaths="+Sleep)
		}
	}
	if starting := max(seconds, now); p.StartLimit > 0 && time.Duration(starting)*time.Second >= p.StartLimit {
		lines = append(lines, fmt.Sprintf("TimeoutStartSec=%d", starting+startSlack+30))
	}
	if len(lines) == 0 {
		return nil, errors.New("it sleeps for so long already")
	}
	return f.inDropIn(p, lines...)
}

// inShell is a word that a shell takes as it is.
var inShell = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// sleeping is the script that sleeps and then does what the command does now.
func (st start) sleeping(seconds int, byImage bool) (string, error) {
	first, err := words(st.values[st.first])
	if err != nil {
		return "", err
	}
	second, err := words(st.values[st.second])
	if err != nil {
		return "", err
	}
	all := append(first, second...)
	if st.script {
		script := all[len(all)-1]
		if m := sleepFirst.FindStringSubmatch(script); m != nil {
			script = m[2]
		}
		return fmt.Sprintf("sleep %d && %s", seconds, script), nil
	}
	if byImage {
		if err := st.official(); err != nil {
			return "", err
		}
		if len(all) == 0 || strings.HasPrefix(all[0], "-") || strings.HasSuffix(all[0], ".conf") { // as the entrypoint does
			all = append([]string{"redis-server"}, all...)
		}
		if all[0] != "docker-entrypoint.sh" {
			all = append([]string{"docker-entrypoint.sh"}, all...)
		}
	}
	for i, word := range all {
		switch {
		case inShell.MatchString(word):
		case strings.ContainsAny(word, "'$\n"):
			return "", errors.New("a word of its command cannot be put into a script as it is")
		default:
			all[i] = "'" + word + "'"
		}
	}
	return fmt.Sprintf("sleep %d && exec %s", seconds, strings.Join(all, " ")), nil
}

// probeWaits gives a container a startup probe that lets it sleep: what its liveness probe
// asks, or more failures of the startup probe that there is.
func (f Files) probeWaits(seconds int, p Policy) (Files, error) {
	if startup := dig(p.start.probes, "startupProbe"); startup != nil {
		period, err := strconv.Atoi(fmt.Sprint(dig(startup, "periodSeconds")))
		if err != nil || period < 1 {
			period = 10
		}
		return f.putBelow(p, (seconds+startSlack)/period+1, "periodSeconds", "startupProbe", "failureThreshold")
	}
	probe := map[string]any{"periodSeconds": 1, "failureThreshold": seconds + startSlack}
	for _, how := range []string{"exec", "tcpSocket", "httpGet", "grpc"} {
		if asks := dig(p.start.probes, "livenessProbe", how); asks != nil {
			probe[how] = asks
		}
	}
	return f.putBelow(p, probe, "image", "startupProbe")
}
