package explore

import (
	"fmt"
	"os"
	"testing"

	"example.org/lockproof/harness/suite"
)

// TestMain makes of the test's own program what its pools run trials in.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "trials" {
		if err := suite.ServeTrials(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// pool gives what runs trials, in children that end with the test.
func pool(t testing.TB) *suite.Pool {
	t.Helper()
	children := &suite.Children{}
	p, err := children.Pool(suite.Options{Cluster: suite.Virtual, VerdictsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(children.Close)
	return p
}
