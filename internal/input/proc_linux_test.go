package input

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Files of /proc have more bytes than their reported size.
func TestRead_ReportedSizeZero_ReadsTheContent(t *testing.T) {
	const name = "/proc/self/status"
	data, err := Read(name, Config)
	require.NoError(t, err)
	require.NotEmpty(t, data)
	_, err = Read(name, 10)
	var large *TooLarge
	require.ErrorAs(t, err, &large)
}
