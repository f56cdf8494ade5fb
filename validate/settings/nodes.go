package settings

import (
	"fmt"
	"slices"
	"strings"
)

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

// byImage says that what an image starts its server with, and with which settings, is not
// known of any but Docker's official ones.
func (p *Policy) byImage(at Place) {
	if err := p.start.official(); p.ByImage && err != nil {
		p.notRead(at, err.Error()+", nor its settings: give them with --config and --restart-delay in place of this file")
	}
}
