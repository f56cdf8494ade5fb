package wording

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommand_ShellReadsTheSameWords(t *testing.T) {
	words := []string{"python3", "my lock.py", "it's", `it's $HOME "and" \t`, "`id`", ""}
	read, err := exec.Command("sh", "-c", "printf '%s|' "+Command(words)).Output()
	require.NoError(t, err)
	require.Equal(t, "python3|my lock.py|it's|it's $HOME \"and\" \\t|`id`||", string(read))
}
