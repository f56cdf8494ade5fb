package input

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A file may have more than it said when it was asked, as those of /proc do.
func TestAFileThatSaysItIsEmpty(t *testing.T) {
	const name = "/proc/self/status"
	data, err := Read(name, Config)
	require.NoError(t, err)
	require.NotEmpty(t, data)
	_, err = Read(name, 10)
	var large *TooLarge
	require.ErrorAs(t, err, &large)
}
