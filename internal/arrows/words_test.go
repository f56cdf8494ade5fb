package arrows

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// banished are identifiers that readers had to translate, each with its replacement (docs/glossary.md: one word, one
// meaning).
var banished = map[string]string{
	"neighbour": "otherTenant", "rouse": "scheduleExecutor", "rehearsal": "a cached effect", "Rehearsals": "Scripts",
	"natively": "builtinEffects", "workOff": "run", "oneThing": "checkSingleField", "Conduct": "ProtocolChecker",
	"lastWords": "crashLog", "culprit": "topFrame", "talked": "flush", "LastWord": "LastEventTime",
	"unbounded": "defaultTimeouts", "Lenient": "AllowBetter", "errUnmet": "errPrecondition",
	"ReasonUnmet": "ReasonPreconditionFailed",
	"carriedOut":  "executedDelete", "promptness": "promptReplyDivisor", "astray": "clockErrorSpans",
	"outliveReader": "ignoreBrokenPipe", "complain": "printError", "GravestFirst": "BySeverity",
	"agenda": "eventLoop", "Agenda": "EventLoop", "comb": "arrivalPeriod", "tooth": "connectionOffset",
	"actsAfter": "controlDelayAfterPause",
	"grain":     "timeSteps", "amid": "duringOperation",
	"rising": "starting", "risen": "started", "bringUp": "start", "tryOut": "verify",
	"liar": "a cluster without effect", "windUp": "finish", "whileWanted": "runUntil",
	"lookOutside": "outsidePollInterval",
	"keptClock":   "clockSurvived", "tellable": "rateDifference", "standstill": "pauseControl",
	"scriptOver": "occupyEndText",
}

// goFiles lists the Go files of every module, for every system.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another package's tests remove their results meanwhile
			return nil
		case err != nil:
			return err
		case entry.IsDir() && file != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(file, ".go"):
			files = append(files, file)
		}
		return nil
	}))
	require.Greater(t, len(files), 500, "the repository's Go files")
	return files
}

func TestIdentifiers_NoBanishedWords(t *testing.T) {
	for _, file := range goFiles(t) {
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && banished[name.Name] != "" {
				t.Errorf("%s: %s is banished: %s", files.Position(name.Pos()), name.Name, banished[name.Name])
			}
			return true
		})
	}
}
