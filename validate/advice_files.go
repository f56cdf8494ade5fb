package validate

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/validate/settings"
)

// inSettings says where lines of redis.conf go: into the file that was read, or, where
// there is none or the server's command line outranks it, into that command.
func (a *Asker) inSettings(lines []string) Advice {
	outranked := slices.ContainsFunc(a.Policy.Overrides, func(d settings.Directive) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, d.Name+" ") })
	})
	file := a.settingsFile()
	if a.Policy.Kind == "" || file != "" && !outranked {
		if file == "" {
			file = "redis.conf"
		}
		return Advice{File: file, Lines: lines}
	}
	return a.inPolicy(a.command(lines))
}

// settingsFile is the redis.conf that was read, or that the server is started with.
func (a *Asker) settingsFile() string {
	for _, file := range a.Redis.Files {
		if file != a.Policy.File {
			return file
		}
	}
	if a.Policy.Config != nil {
		return a.Policy.Config.Path
	}
	return ""
}

// inPolicy is a command in the words of the file that starts the server.
func (a *Asker) inPolicy(command string) Advice {
	switch a.Policy.Kind {
	case settings.Systemd:
		return Advice{File: a.dropIn(), Lines: []string{"[Service]", "ExecStart=", "ExecStart=" + command}}
	case settings.Compose:
		return Advice{File: a.Policy.File, Lines: []string{"services:", fmt.Sprintf("  %s:", a.Policy.Service), "    command: " + command}}
	}
	return Advice{File: a.Policy.File,
		Lines: []string{fmt.Sprintf("# container %s", a.Policy.Service), fmt.Sprintf("command: [sh, -c, %q]", "exec "+command)}}
}

// dropIn is the file in which a unit is changed: the unit's own is its package's.
func (a *Asker) dropIn() string { return a.Policy.File + ".d/lockproof.conf" }

// asleep puts a sleep before each start of the server.
func (a *Asker) asleep(seconds int, free []string) Advice {
	sleeping := fmt.Sprintf("sleep %d && exec %s", seconds, a.command(nil))
	if a.Policy.ByImage { // which drops root's rights
		sleeping = fmt.Sprintf("sleep %d && exec docker-entrypoint.sh %s", seconds, a.command(nil))
	}
	switch a.Policy.Kind {
	case settings.Systemd:
		lines := []string{"[Service]", fmt.Sprintf("ExecStartPre=%s %d", settings.Sleep, seconds)}
		if a.Policy.SleepRefused {
			lines = append(lines, "ExecPaths="+settings.Sleep)
		}
		if limit := a.Policy.StartLimit.Seconds(); limit > 0 && float64(seconds) >= limit {
			lines = append(lines, fmt.Sprintf("TimeoutStartSec=%d", seconds+90))
		}
		return Advice{File: a.dropIn(), Lines: lines}
	case settings.Compose:
		key := "entrypoint"
		if a.Policy.ByImage {
			key = "command"
		}
		return Advice{File: a.Policy.File, Lines: []string{"services:", fmt.Sprintf("  %s:", a.Policy.Service),
			fmt.Sprintf("    %s: [sh, -c, %q]", key, sleeping)}}
	case settings.Kubernetes:
		lines := []string{fmt.Sprintf("# container %s", a.Policy.Service), fmt.Sprintf("command: [sh, -c, %q]", sleeping)}
		if probe := a.Policy.ProbeLimit; probe > 0 {
			lines = append(lines, fmt.Sprintf("startupProbe: {exec: {command: [redis-cli, ping]}, periodSeconds: 1, failureThreshold: %d}",
				seconds+60))
		}
		return Advice{File: a.Policy.File, Lines: lines}
	}
	return Advice{File: "whatever starts Redis",
		Lines: append(slices.Clone(free), fmt.Sprintf("sleep %d before redis-server, at every start", seconds))}
}

// command is what starts the server now, with lines of redis.conf as arguments, which
// take the place of those of the same name. A secret is not told.
func (a *Asker) command(lines []string) string {
	text := a.Policy.Command
	for _, d := range a.Policy.Overrides {
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, d.Name+" ") }) {
			continue
		}
		if d.Secret() {
			d.Args = []string{"AS-BEFORE"}
		}
		text += " --" + d.String()
	}
	for _, line := range lines {
		text += " --" + line
	}
	return text
}
