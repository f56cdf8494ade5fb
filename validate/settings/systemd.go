package settings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// assignment is one line of a unit.
type assignment struct {
	at    Place
	value string
}

// unit is what a systemd unit sets, by section and key: "Service.RestartSec".
type unit map[string][]assignment

// last is the value that counts of a key that takes one.
func (u unit) last(key, otherwise string) assignment {
	if list := u[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return assignment{value: otherwise}
}

// parseUnit reads a systemd service (systemd.syntax(7), systemd.service(5)), and
// its drop-ins.
func parseUnit(sources []source) (Policy, error) {
	u := unit{}
	p := Policy{Kind: Systemd, File: sources[0].file, Returns: map[Crash]Return{}}
	for i, d := range sources {
		set, err := u.read(d.file, string(d.data))
		switch {
		case err != nil:
			return Policy{}, err
		case i > 0 && set:
			p.Remarks = append(p.Remarks, Remark{Place: Place{File: d.file}, What: "this drop-in counts as well"})
		case i == 0 && !set:
			return Policy{}, &Problem{Place: Place{File: d.file}, What: "nothing is set here", Right: wantedPolicy}
		}
	}
	p.SleepRefused, p.DropIn = u.refuses(Sleep), dropIn(sources)
	p.store = u.storage(p.File)
	pause, err := u.span("Service.RestartSec", "100ms")
	if err != nil {
		return Policy{}, err
	}
	sleep, pre, err := u.sleeps(&p)
	if err != nil {
		return Policy{}, err
	}
	command := u.command(&p)
	u.beside(&p)
	unsure := cmp.Or(command.unsure, pre)
	sleep += command.sleep
	p.start.exec, p.start.sleep = u.last("Service.ExecStart", "").value, sleep
	kill := Return{After: sleep, Why: "nothing restarts it, and whoever starts it may do so at once", Unsure: unsure}
	restart := u.last("Service.Restart", "no")
	words := []string{"no", "on-success", "on-failure", "on-abnormal", "on-abort", "on-watchdog", "always"}
	switch {
	case !slices.Contains(words, restart.value):
		return Policy{}, &Problem{Place: restart.at, What: fmt.Sprintf("Restart=%s: there is no such value", restart.value),
			Right: "there are " + strings.Join(words, ", ")}
	case pause == forever:
		kill.Why = "RestartSec=infinity never restarts it, and whoever starts it may do so at once"
	case slices.ContainsFunc(u.words("Service.RestartPreventExitStatus"), func(w string) bool { return deadly.MatchString(w) }):
		kill.Why = "RestartPreventExitStatus keeps systemd from restarting it, and whoever starts it may do so at once"
	case slices.Contains([]string{"on-failure", "on-abnormal", "on-abort", "always"}, restart.value):
		kill = Return{After: pause + sleep, Why: fmt.Sprintf("Restart=%s after RestartSec=%s", restart.value,
			u.last("Service.RestartSec", "100ms").value), Unsure: unsure}
	}
	p.Returns[Kill] = kill
	p.Returns[Shutdown] = Return{After: sleep, Why: "systemctl restart does not wait for RestartSec", Unsure: unsure}
	p.Returns[PowerLoss] = Return{After: sleep, Why: "RestartSec does not hold back a unit at boot", Unsure: unsure}
	if sleep > 0 {
		for c, r := range p.Returns {
			r.Why = fmt.Sprintf("%s sleeps for %s at every start", sleeper(sleep, command.sleep), sleep)
			if c == Kill && kill.After > sleep {
				r.Why += ", after RestartSec"
			}
			p.Returns[c] = r
		}
	}
	return p, u.limits(&p, pause, sleep, command.sleep)
}

// deadly are signals by which a process is killed, as RestartPreventExitStatus names them.
var deadly = regexp.MustCompile(`^SIG(?:KILL|SEGV|ABRT|BUS)$`)

// read reads the lines of a unit or a drop-in, and says whether it has any.
func (u unit) read(file, text string) (set bool, err error) {
	section := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := Place{file, i + 1}
		parts := []string{strings.TrimSpace(lines[i])}
		for last := parts[0]; strings.HasSuffix(last, `\`) && i+1 < len(lines); {
			if i++; isComment(lines[i]) { // which goes on behind it (systemd.syntax(7))
				continue
			}
			parts[len(parts)-1] = strings.TrimSuffix(last, `\`)
			last = strings.TrimSpace(lines[i])
			parts = append(parts, last)
		}
		line := strings.Join(parts, " ")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			section = line[1 : len(line)-1]
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == "" {
			return false, &Problem{Place: at, What: "this is not a line of a unit", Right: "write [Service], and below it Key=value"}
		}
		key = section + "." + strings.TrimSpace(key)
		if value = strings.TrimSpace(value); value == "" {
			delete(u, key) // an empty assignment takes back those before it
			continue
		}
		u[key] = append(u[key], assignment{at, value})
		if key == "Service.TimeoutSec" { // sets both timeouts (systemd.service(5))
			u["Service.TimeoutStartSec"] = append(u["Service.TimeoutStartSec"], assignment{at, value})
		}
	}
	return section != "", nil
}

func (u unit) span(key, otherwise string) (time.Duration, error) {
	a := u.last(key, otherwise)
	d, err := parseTimeSpan(a.value)
	if err != nil {
		return 0, &Problem{Place: a.at, What: fmt.Sprintf("%s=%s: this is not a time span", key[strings.Index(key, ".")+1:],
			a.value), Right: "write it as in 35, 35s or 1min 30s"}
	}
	return d, nil
}

// sleeper names the lines that sleep, of a sum to which ExecStart adds a part.
func sleeper(sum, start time.Duration) string {
	switch start {
	case 0:
		return "ExecStartPre"
	case sum:
		return "ExecStart"
	}
	return "ExecStartPre and ExecStart together"
}

// limits says what else keeps the server away, or breaks the delay.
func (u unit) limits(p *Policy, pause, sleep, inStart time.Duration) error {
	timeout, err := u.span("Service.TimeoutStartSec", "90s")
	if err != nil {
		return err
	}
	if p.StartLimit = timeout; timeout == forever {
		p.StartLimit = 0
	}
	starting := sleep
	if !strings.HasPrefix(u.last("Service.Type", "").value, "notify") && u.last("Service.Type", "").value != "forking" {
		starting -= inStart // a simple service has started as soon as its command runs
	}
	if at := u.last("Service.TimeoutStartSec", "").at; timeout > 0 && starting >= timeout {
		if at.File == "" {
			at = u.last("Service.ExecStart", "").at
		}
		p.Remarks = append(p.Remarks, Remark{Place: at, Doubts: Crashes,
			What: fmt.Sprintf("%s sleeps for %s, and TimeoutStartSec (%s) ends the start before that: raise it",
				sleeper(starting, min(starting, inStart)), starting, timeout)})
	}
	interval, err := u.span("Unit.StartLimitIntervalSec", "10s")
	if err != nil {
		return err
	}
	burst, err := strconv.Atoi(u.last("Unit.StartLimitBurst", "5").value)
	if err != nil || burst < 0 {
		return &Problem{Place: u.last("Unit.StartLimitBurst", "").at, What: "StartLimitBurst is not a number",
			Right: "give a whole number, 0 for no limit"}
	}
	if p.Returns[Kill].After == pause+sleep && burst > 0 && interval > time.Duration(burst)*(pause+sleep) {
		p.Remarks = append(p.Remarks, Remark{Place: Place{File: p.File},
			What: fmt.Sprintf("after %d restarts within %s (StartLimitBurst, StartLimitIntervalSec) systemd "+
				"leaves the server down: locks stay safe; the node stays down", burst, interval)})
	}
	return nil
}

var (
	spanPart = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Zµ]*)`)
	// spanUnits are systemd.time(7)'s.
	spanUnits = map[string]time.Duration{
		"": time.Second, "us": time.Microsecond, "µs": time.Microsecond, "usec": time.Microsecond,
		"ms": time.Millisecond, "msec": time.Millisecond,
		"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second, "m": time.Minute, "min": time.Minute,
		"minute": time.Minute, "minutes": time.Minute, "h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	}
)

// forever is what infinity means to a service that is to start.
const forever = 1000 * time.Hour

// parseTimeSpan reads a time span as systemd writes it: "35", "1min 30s".
func parseTimeSpan(text string) (time.Duration, error) {
	if text == "infinity" {
		return forever, nil
	}
	var sum time.Duration
	rest := text
	for strings.TrimSpace(rest) != "" {
		m := spanPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%q is not a time span", text)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		unit, known := spanUnits[m[2]]
		if err != nil || !known || n*float64(unit) > float64(forever) {
			return 0, fmt.Errorf("%q is not a time span", text)
		}
		sum += time.Duration(n * float64(unit))
		rest = rest[len(m[0]):]
	}
	if text == "" || sum > forever {
		return 0, fmt.Errorf("%q is not a time span", text)
	}
	return sum, nil
}
