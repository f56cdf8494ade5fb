package deploy

import (
	"fmt"
	"time"

	"example.org/lockproof/validate/settings"
)

// probes judges what kubelet runs in the container, and whether it ends a sleep.
func (p pod) probes(s *Server, i int, c any, sleep time.Duration) {
	at := func(keys ...any) settings.Place { return p.in(append([]any{"containers", i}, keys...)...) }
	for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if command := dig(c, key, "exec", "command"); command != nil {
			s.beside(at(key), key, joined(command), Settings)
		}
	}
	if limit := probeLimit(c); limit > 0 && sleep >= limit {
		s.lacks(Restart, at("livenessProbe"),
			fmt.Sprintf("the command sleeps for %s, and the liveness probe ends the container after %s: "+
				"give it a startupProbe that waits longer", sleep, limit))
	}
	for _, key := range []string{"postStart", "preStop"} {
		hook := dig(c, "lifecycle", key)
		command := joined(dig(hook, "exec", "command"))
		switch {
		case hook == nil || dig(hook, "sleep") != nil:
		case dig(hook, "exec") == nil:
			s.misses(Settings, at("lifecycle", key), key, "change settings or data by a request")
		case key == "postStart":
			s.beside(at("lifecycle", key), key, command, Settings)
		default:
			s.beside(at("lifecycle", key), key, command, Data, settings.Shutdown)
		}
	}
	if number(dig(p.spec, "terminationGracePeriodSeconds"), 30) == 0 { // (kubernetes.io, Force Delete StatefulSet Pods)
		s.lacks(Single, p.in("terminationGracePeriodSeconds"),
			"terminationGracePeriodSeconds 0 deletes a pod before its server has ended, so that a second one may start "+
				"beside it: leave it out", settings.Shutdown)
	}
}

// probeLimit is how long a container may say nothing after its start until its liveness probe has it killed
// (Kubernetes, Configure Probes); 0 where there is none. A startup probe holds it back.
func probeLimit(c any) time.Duration {
	probe := dig(c, "livenessProbe")
	if startup := dig(c, "startupProbe"); startup != nil {
		probe = startup
	}
	if probe == nil {
		return 0
	}
	return time.Duration(number(dig(probe, "initialDelaySeconds"), 0)+
		number(dig(probe, "periodSeconds"), 10)*number(dig(probe, "failureThreshold"), 3)) * time.Second
}
