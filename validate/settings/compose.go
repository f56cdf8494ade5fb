package settings

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// engineBackoff is how long the Docker engine waits before it restarts a
// container for the first time; it doubles with each further restart within
// ten seconds.
const engineBackoff = 100 * time.Millisecond

// parseCompose reads the policy of the service that is meant.
func parseCompose(d document, asked string) (Policy, error) {
	services, _ := d.root["services"].(map[string]any)
	var names, servers []string
	for name, s := range services {
		names = append(names, name)
		if image, _ := dig(s, "image").(string); isServer(name, image) && serves(dig(s, "entrypoint"), dig(s, "command")) {
			servers = append(servers, name)
		}
	}
	name, err := choose(d.file, names, servers, asked)
	if err != nil {
		return Policy{}, err
	}
	p, err := d.service(name, services[name])
	if err != nil {
		return Policy{}, err
	}
	if asked == "" && len(servers) > 1 {
		p.Remarks = append(p.Remarks, Remark{Place: Place{File: d.file},
			What: fmt.Sprintf("of the services %s, %s is judged; name another with --service", strings.Join(servers, ", "), name)})
		for _, other := range servers {
			if q, err := d.service(other, services[other]); other != name && (err != nil || q.shape() != p.shape()) {
				p.Remarks = append(p.Remarks, p.unlike(d.at("services", other), other))
			}
		}
	}
	for _, other := range names {
		image, _ := dig(services[other], "image").(string)
		if q, err := d.service(other, services[other]); err == nil && other != name && isServer(other, image) {
			p.others = append(p.others, node{other, d.at("services", other, "command"), q})
		}
	}
	for other, s := range services {
		if c := sentinelFile(d.at("services", other, "command"), dig(s, "entrypoint"), dig(s, "command")); c != nil {
			c.ofCompose(d, s)
			p.sentinels = append(p.sentinels, c)
		}
	}
	return p, nil
}

// service reads a service's restart policy (the Compose specification, restart and
// deploy.restart_policy), and its command.
func (d document) service(name string, s any) (Policy, error) {
	p := Policy{Kind: Compose, File: d.file, Service: name}
	p.store = d.composeStorage(name, s)
	c, err := command(d.at("services", name, "command"), interpolated(dig(s, "entrypoint")), interpolated(dig(s, "command")))
	if err != nil {
		return Policy{}, err
	}
	p.ByImage = dig(s, "entrypoint") == nil
	p.start = startOf(d.path("services", name), s, "entrypoint", "command")
	d.elsewhere(name, s, &p)
	if c.config != nil {
		c.config.ofCompose(d, s)
	}
	kill, why, err := d.restart(name, s, &p)
	if err != nil {
		return Policy{}, err
	}
	p.returns(kill, map[Crash]string{Kill: why, Shutdown: "docker restart brings it back at once",
		PowerLoss: "the engine starts it at boot, with no delay of its own"}, c)
	for _, hook := range list(dig(s, "post_start")) {
		p.hooked(d.at("services", name, "post_start"), "post_start", dig(hook, "command"), Crashes...)
	}
	for _, hook := range list(dig(s, "pre_stop")) {
		p.hooked(d.at("services", name, "pre_stop"), "pre_stop", dig(hook, "command"), Shutdown)
	}
	if dig(s, "restart") == nil && dig(s, "deploy", "restart_policy", "delay") != nil {
		r := p.Returns[Kill]
		r.Unsure = cmp.Or(r.Unsure, "a swarm would wait for its deploy.restart_policy.delay")
		p.Returns[Kill] = r
	}
	return p, nil
}

// elsewhere says what of a service other files say, and its image.
func (d document) elsewhere(name string, s any, p *Policy) {
	if dig(s, "extends") != nil {
		p.notRead(d.at("services", name, "extends"), fmt.Sprintf("%s extends another service, which is not read: "+
			"give the output of docker compose config", name))
	}
	folder, file := filepath.Split(d.file)
	for _, given := range []string{"compose", "docker-compose"} {
		for _, end := range []string{".yaml", ".yml"} {
			over := filepath.Join(folder, given+".override"+end)
			if _, err := os.Stat(over); err == nil && (file == given+".yaml" || file == given+".yml") {
				p.notRead(Place{File: over}, "docker compose reads this file as well, and it was not read: give the output of docker compose config")
			}
		}
	}
	if dig(s, "build") != nil && p.ByImage {
		p.notRead(d.at("services", name, "build"), fmt.Sprintf("%s is built here, and what its image starts its server with is not known: "+
			"give the settings with --config and --restart-delay in place of this file", name))
	}
	p.byEnvironment(d.at("services", name, "environment"), dig(s, "environment"))
	p.byImage(d.at("services", name))
}

// variable is what compose puts a value in for (the Compose specification, Interpolation).
var variable = regexp.MustCompile(`\$\$|\$\{(\w+)[^}]*\}`)

// interpolated is a command whose variables are one word each, for what they say depends on
// who starts it, and whose $$ are the $ of a shell.
func interpolated(value any) any {
	switch v := value.(type) {
	case string:
		return variable.ReplaceAllStringFunc(v, func(found string) string {
			if found == "$$" {
				return "$"
			}
			return "$" + variable.FindStringSubmatch(found)[1]
		})
	case []any:
		all := slices.Clone(v)
		for i, word := range all {
			all[i] = interpolated(word)
		}
		return all
	}
	return value
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
			Remark{Place: at, What: "the delay of deploy.restart_policy counts in a swarm only; docker compose up restarts without one"})
	}
	if condition := fmt.Sprint(dig(s, "deploy", "restart_policy", "condition")); kind == "no" && dig(s, "restart") == nil &&
		dig(s, "deploy", "restart_policy") != nil && condition != "none" {
		return engineBackoff, "docker compose restarts it after 100ms, by the condition of deploy.restart_policy and without its delay", nil
	}
	if kind == "no" {
		return 0, "nothing restarts it, and whoever starts it may do so at once", nil
	}
	return engineBackoff, fmt.Sprintf("restart: %s brings it back after 100ms, and compose has no key for a delay", kind), nil
}
