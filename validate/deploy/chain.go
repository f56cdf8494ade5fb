package deploy

import (
	"fmt"
	"slices"

	"example.org/lockproof/validate/settings"
)

// LinkName names one of the facts that a safe verdict needs.
type LinkName string

// The links, in the order of the chain.
const (
	Program  LinkName = "program"       // which program runs as the server
	Settings LinkName = "settings"      // with which settings
	Data     LinkName = "data"          // its data are in a place that outlives the crash
	Restart  LinkName = "restart"       // what restarts it, and after how long
	Alone    LinkName = "alone"         // nothing else touches its data or its settings
	Single   LinkName = "single server" // no second server runs beside it on the same data or address
	Takeover LinkName = "takeover"      // no replica is promoted, or the takeovers are judged
)

// chain lists the links that every safe verdict needs. Their places are their identifiers.
var chain = []LinkName{Program, Settings, Data, Restart, Alone, Single, Takeover}

// State says how far a link is known.
type State string

// The states.
const (
	Established  State = "established"  // read in a recognised form
	Assumed      State = "assumed"      // no input can confirm it: named with each safe verdict
	Broken       State = "broken"       // not understood: the verdict is in doubt
	Contradicted State = "contradicted" // read, and it does not hold
	Open         State = "open"         // the server may be safer than this: the least counts
)

// Link is one fact, its place, and the crashes that it affects.
type Link struct {
	Name    LinkName         `json:"link"`
	State   State            `json:"state"`
	Place   settings.Place   `json:"place"`
	What    string           `json:"what"`
	Crashes []settings.Crash `json:"crashes,omitempty"`
}

// String writes a link with its place, as compilers do.
func (l Link) String() string {
	if l.Place.File == "" {
		return l.What
	}
	return fmt.Sprintf("%s: %s", l.Place, l.What)
}

// ID is the stable identifier of a finding about the link.
func (l Link) ID() string { return fmt.Sprintf("LP01%d", 1+slices.Index(chain, l.Name)) }

// Chain has the facts about a server.
type Chain struct {
	Links []Link `json:"chain"`
}

func (c *Chain) add(name LinkName, state State, at settings.Place, crashes []settings.Crash, what string) {
	if len(crashes) == 0 {
		crashes = settings.Crashes
	}
	link := Link{name, state, at, what, crashes}
	same := func(l Link) bool { return l.Name == name && l.State == state && l.Place == at && l.What == what }
	if !slices.ContainsFunc(c.Links, same) {
		c.Links = append(c.Links, link)
	}
}

func (c *Chain) establish(name LinkName, at settings.Place, format string, args ...any) {
	c.add(name, Established, at, nil, fmt.Sprintf(format, args...))
}

// assume adds a fact that no input can confirm.
func (c *Chain) assume(name LinkName, at settings.Place, format string, args ...any) {
	c.add(name, Assumed, at, nil, fmt.Sprintf(format, args...))
}

// unknown breaks a link because of something that was not understood, and says what it could do.
func (c *Chain) unknown(name LinkName, at settings.Place, what, could string, crashes ...settings.Crash) {
	c.add(name, Broken, at, crashes, fmt.Sprintf("not understood: %s; it could %s", what, could))
}

// doubt breaks a link because a fact is missing.
func (c *Chain) doubt(name LinkName, at settings.Place, what string, crashes ...settings.Crash) {
	c.add(name, Broken, at, crashes, what)
}

// Broken returns the links that prevent a safe verdict for a crash. If every lock has expired before the server is
// back, its data do not matter.
func (c *Chain) Broken(crash settings.Crash, expired bool) []Link {
	return c.links(crash, func(l Link) bool { return l.State == Broken && !(expired && l.Name == Data) })
}

func (c *Chain) links(crash settings.Crash, are func(Link) bool) (all []Link) {
	for _, l := range c.Links {
		if slices.Contains(l.Crashes, crash) && are(l) {
			all = append(all, l)
		}
	}
	return all
}

// Lost returns why a server starts empty after a crash although it wrote its data, "" if it does not.
func (c *Chain) Lost(crash settings.Crash) string {
	for _, l := range c.links(crash, func(l Link) bool { return l.Name == Data && l.State == Contradicted }) {
		return l.What
	}
	return ""
}

// later notes why the server may be back later than the delay that counts.
func (c *Chain) later(at settings.Place, what string, crashes ...settings.Crash) {
	c.add(Restart, Open, at, crashes, what)
}

// Unsettled returns the links that could make a server safer than its files show.
func (c *Chain) Unsettled(crash settings.Crash) []Link {
	return c.links(crash, func(l Link) bool {
		return l.State == Open || l.State == Broken && (l.Name == Program || l.Name == Settings || l.Name == Restart)
	})
}

// Assumptions are the assumed links, each for every crash.
func (c *Chain) Assumptions() []Link {
	return c.links(settings.Kill, func(l Link) bool { return l.State == Assumed })
}

func (c *Chain) unknownProgram() bool {
	return slices.ContainsFunc(c.Links, func(l Link) bool { return l.Name == Program && l.State == Broken })
}

// breakMissing breaks each link that no reader has set, so that a forgotten one cannot lead to a safe verdict. If the
// program is not known, that finding stands alone.
func (c *Chain) breakMissing(at settings.Place) {
	if c.unknownProgram() {
		return
	}
	for _, name := range chain {
		if !slices.ContainsFunc(c.Links, func(l Link) bool { return l.Name == name }) {
			c.doubt(name, at, fmt.Sprintf("nothing that was read establishes the link %q", name))
		}
	}
}
