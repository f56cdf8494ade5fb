package reports

import (
	"encoding/xml"
	"io"
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/harness/suite"
)

// junitHead has the attributes that all suites and each suite share.
type junitHead struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitHead
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitHead
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitOutcome `xml:"failure"`
	Error   *junitOutcome `xml:"error"`
	Skipped *junitOutcome `xml:"skipped"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// WriteJUnit writes junit.xml: one suite with a test case for each row, the most severe first. A row that differs is a
// failure. An inconclusive row, or a failure of the harness, is an error, since it has not passed. So is a run that was
// cut short or skipped every row: the file passes only if the exit code does.
func (r *Report) WriteJUnit(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(r.junit()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junit() junitSuites {
	one := junitSuite{
		junitHead: junitHead{Name: "lockproof " + r.Options.Cluster},
		Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{
			{"version", r.Version}, {"go", r.Go},
			{"seed", strconv.FormatUint(r.Options.Seed, 10)},
			{"trials", strconv.Itoa(r.Options.Trials)},
		},
	}
	elapsed := time.Duration(0)
	for _, row := range slices.Concat(r.BySeverity(), r.skipped()) {
		elapsed += row.Elapsed
		one.Tests++
		switch row.Standing {
		case suite.Differs:
			one.Failures++
		case suite.HarnessError, suite.Inconclusive:
			one.Errors++
		case suite.Skipped, suite.LimitOfClass:
			one.Skipped++
		}
		one.Cases = append(one.Cases, r.junitCase(row))
	}
	if r.ExitCode() != ExitAsExpected && one.Failures+one.Errors == 0 {
		one.Tests, one.Errors = one.Tests+1, 1
		outcome := &junitOutcome{Message: r.Summary(), Type: string(suite.Inconclusive)}
		one.Cases = append(one.Cases, junitCase{Name: "the whole run", Class: "lockproof." + r.Options.Cluster, Time: "0.000",
			Error: outcome})
	}
	one.Time = seconds(elapsed)
	all := junitSuites{junitHead: one.junitHead, Suites: []junitSuite{one}}
	all.Name, all.Time = "lockproof", seconds(r.Elapsed)
	return all
}

func (r *Report) junitCase(row *Row) junitCase {
	c := junitCase{Name: row.Name(), Class: "lockproof." + row.Cluster, Time: seconds(row.Elapsed)}
	outcome := &junitOutcome{Message: row.Why, Type: string(row.Standing)}
	switch row.Standing {
	case suite.Skipped, suite.LimitOfClass:
		c.Skipped = &junitOutcome{Message: row.Why}
		return c
	case suite.Differs:
		c.Failure = outcome
	case suite.HarnessError, suite.Inconclusive:
		c.Error = outcome
	}
	if row.Standing != suite.AsExpected {
		outcome.Text = "\n" + r.accountText(row)
	}
	return c
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}
