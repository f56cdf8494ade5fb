package settings

import (
	"fmt"
	"slices"
	"strings"
)

// node is another server of a policy's file.
type node struct {
	name   string
	at     Place
	policy Policy
}

// serviceAccount is where Kubernetes mounts what a pod may ask of it, whether its file says so or not.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// shape is all that decides what becomes of a server's locks, for a comparison of nodes that
// should be alike.
func (p Policy) shape() string {
	var b strings.Builder
	for _, crash := range Crashes {
		fmt.Fprintln(&b, p.Returns[crash].After, p.Returns[crash].Unsure != "")
	}
	for _, d := range p.Overrides {
		if !slices.Contains(harmless, d.Name) || d.Name == "dir" {
			fmt.Fprintln(&b, d)
		}
	}
	for _, m := range p.store.mounts {
		if m.target == serviceAccount {
			continue
		}
		fmt.Fprintln(&b, m.target, m.fate.lost, m.fate.doubted)
	}
	fmt.Fprintln(&b, p.unread != "", p.store.rest.lost, p.store.abrupt)
	if c := p.Config; c != nil {
		if s, err := Disk.readSettings("", nil, c); err == nil {
			fmt.Fprintln(&b, c.Path, s.Unread != "", s.Lines(), s.dir(), s.Unknown)
		}
	}
	return b.String()
}

// unlike says that another node is not set as the one that is judged.
func (p Policy) unlike(at Place, other string) Remark {
	return Remark{Place: at, Doubts: Crashes, What: fmt.Sprintf("%s is not set as %s, which is judged: judge each with --service",
		other, p.Service)}
}

// extraFlags is a variable whose words Docker's official image of Valkey adds to its command.
const extraFlags = "VALKEY_EXTRA_FLAGS"

// byEnvironment puts in doubt a server to whose command an image adds what a variable says.
func (p *Policy) byEnvironment(at Place, environment any) {
	if p.ByImage && strings.Contains(p.start.image, "valkey") && strings.Contains(fmt.Sprint(environment), extraFlags) {
		p.notRead(at, "the image adds "+extraFlags+" to the server's command, which is not read: put its options into the command")
	}
}

// byImage says that what an image starts its server with, and with which settings, is not
// known of any but Docker's official ones.
func (p *Policy) byImage(at Place) {
	if err := p.start.official(); p.ByImage && err != nil {
		p.notRead(at, err.Error()+", nor its settings: give them with --config and --restart-delay in place of this file")
	}
}
