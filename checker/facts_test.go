package checker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMergeFacts_SeveralLinks_VerbIsPlural(t *testing.T) {
	for one, several := range map[string]string{
		"link %s was cut":        "links c1-n1 and c1-n2 were cut",
		"link %s lost a message": "links c1-n1 and c1-n2 lost a message",
		"%s had its clock set":   "c1-n1 and c1-n2 had their clock set",
	} {
		facts := mergeFacts([]nodeFact{{1, 0, one, "c1-n2"}, {2, 0, one, "c1-n1"}})
		require.Equal(t, []Fact{{Event: 1, Process: "c1-n2", What: several}}, facts)
	}
}
