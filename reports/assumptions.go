package reports

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/lockproof/reports/terminal"
)

// Assumption is what a search has come to that breaks one assumption of a lock, or none.
type Assumption struct {
	Name      string // "none", or the assumption's
	Broken    string // what is drawn where it is broken
	Schedules int    // that were run
	Judged    int    // of these put what counts to the test
	// Violated is the property of the first find, and what its blame names; "" if nothing
	// was found. After and Steps are the number of its schedule, from 1, and how many steps
	// were left of it; Repeat is the command that repeats it.
	Violated     string
	After, Steps int
	Repeat       string
}

// AssumptionsText says which assumptions a lock rests on: a row for each, and a sentence.
func AssumptionsText(lock string, rows []Assumption, screen terminal.Screen) string {
	t := terminal.NewTable("broken", "schedules", "to the test", "first violation", "after", "steps")
	var repeat, rests, held []string
	for _, r := range rows {
		cells := []string{r.Name, strconv.Itoa(r.Schedules), strconv.Itoa(r.Judged), "none found", "", ""}
		switch {
		case r.Violated != "":
			cells = append(cells[:3], screen.Style(r.Violated, terminal.Red), strconv.Itoa(r.After), strconv.Itoa(r.Steps))
			repeat = append(repeat, r.Repeat)
			rests = append(rests, r.Name)
		case r.Judged == 0:
			cells[3] = screen.Style("nothing was put to the test", terminal.Yellow)
		default:
			held = append(held, r.Name)
		}
		t.Row(cells...)
	}
	p := &terminal.Page{Screen: screen}
	p.Line(t.Fitted(screen) + "\n")
	for _, r := range rows {
		p.Hang(r.Name+": ", r.Broken)
	}
	p.Line("")
	p.Hang("", restsOn(lock, rests, held))
	for _, command := range repeat {
		p.Line("  " + command)
	}
	return p.Text()
}

// restsOn says in words what was violated with what broken, and what was not.
func restsOn(lock string, rests, held []string) string {
	var parts []string
	if len(rests) > 0 && rests[0] == "none" {
		parts = append(parts, fmt.Sprintf("%s is violated with no assumption broken.", lock))
		rests = rests[1:]
	}
	if len(rests) > 0 {
		parts = append(parts,
			fmt.Sprintf("%s rests on: %s. Broken, each led to a violation.", lock, strings.Join(rests, ", ")))
	}
	if len(held) > 0 {
		parts = append(parts, fmt.Sprintf("Nothing was found with %s, which shows how long it was looked for, and no more.",
			strings.Join(held, ", ")))
	}
	return strings.Join(parts, " ")
}
