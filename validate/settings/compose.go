package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// engineBackoff is how long the Docker engine waits before it restarts a
// container for the first time; it doubles with each further restart within
// ten seconds.
const engineBackoff = 100 * time.Millisecond

// parseCompose reads a service's restart policy (the Compose specification,
// restart and deploy.restart_policy).
func parseCompose(d document, asked string) (Policy, error) {
	services, _ := d.root["services"].(map[string]any)
	var names, servers []string
	for name, s := range services {
		names = append(names, name)
		if image, _ := dig(s, "image").(string); isServer(name, image) {
			servers = append(servers, name)
		}
	}
	name, err := choose(d.file, names, servers, asked)
	if err != nil {
		return Policy{}, err
	}
	s := services[name]
	p := Policy{Kind: Compose, File: d.file, Service: name}
	if asked == "" && len(servers) > 1 {
		p.Remarks = append(p.Remarks, Remark{Place: Place{File: d.file},
			What: fmt.Sprintf("of the services %s, %s is judged; name another with --service", strings.Join(servers, ", "), name)})
	}
	for other, s := range services {
		if c := sentinelFile(d.at("services", other, "command"), dig(s, "entrypoint"), dig(s, "command")); c != nil {
			c.ofCompose(d, s)
			p.sentinels = append(p.sentinels, c)
		}
	}
	c, err := command(d.at("services", name, "command"), dig(s, "entrypoint"), dig(s, "command"))
	if err != nil {
		return Policy{}, err
	}
	p.ByImage = dig(s, "entrypoint") == nil
	p.start = startOf(d.path("services", name), s, "entrypoint", "command")
	if c.config != nil {
		c.config.ofCompose(d, s)
	}
	kill, why, err := d.restart(name, s, &p)
	if err != nil {
		return Policy{}, err
	}
	p.returns(kill, map[Crash]string{Kill: why, Shutdown: "docker restart brings it back at once",
		PowerLoss: "the engine starts it at boot, with no delay of its own"}, c)
	return p, nil
}

// restart reads how soon the engine restarts a service.
func (d document) restart(name string, s any, p *Policy) (time.Duration, string, error) {
	at := d.at("services", name, "restart")
	restart := fmt.Sprint(dig(s, "restart"))
	if dig(s, "restart") == nil || restart == "false" {
		restart = "no"
	}
	kind, _, _ := strings.Cut(restart, ":")
	if kinds := []string{"no", "always", "on-failure", "unless-stopped"}; !slices.Contains(kinds, kind) {
		return 0, "", &Problem{Place: at, What: fmt.Sprintf("restart: %s: there is no such policy", restart),
			Right: "there are " + strings.Join(kinds, ", ")}
	}
	if delay, ok := dig(s, "deploy", "restart_policy", "delay").(string); ok {
		at := d.at("services", name, "deploy", "restart_policy", "delay")
		wait, err := time.ParseDuration(delay)
		if err != nil || wait < 0 {
			return 0, "", &Problem{Place: at, What: fmt.Sprintf("delay: %s: this is not a duration", delay), Right: "write it as in 35s"}
		}
		p.Remarks = append(p.Remarks,
			Remark{Place: at, What: "deploy.restart_policy counts in a swarm only; docker compose up goes by restart:"})
		if kind == "no" {
			return wait, fmt.Sprintf("a swarm restarts it after %s", delay), nil
		}
	}
	if kind == "no" {
		return 0, "nothing restarts it, and whoever starts it may do so at once", nil
	}
	return engineBackoff, fmt.Sprintf("restart: %s brings it back after 100ms, and compose has no key for a delay", kind), nil
}
