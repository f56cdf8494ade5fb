package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/cluster"
)

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [cluster ...]",
		Short: "List what each cluster needs and whether it is installed",
		Long: `Lists what each cluster needs, and whether it is installed. The exit code is 3 if a
named cluster lacks something that it needs; with no name, if any cluster does.`,
		Example: "  lockproof doctor\n  lockproof doctor local",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = cluster.Names()
			}
			var named []cluster.Kind
			for _, name := range args {
				kind, err := cluster.Find(name)
				if err != nil {
					return usage("there is no cluster %q: %s", name, instead(name, cluster.Names()))
				}
				named = append(named, kind)
			}
			return p.doctor(cmd.Context(), named)
		},
	}
}

func (p *program) doctor(ctx context.Context, clusters []cluster.Kind) error {
	lacking := false
	for _, kind := range clusters {
		verdict, lines := examine(ctx, kind.Needs)
		lacking = lacking || verdict == notReady
		fmt.Fprintf(p.out, "%s: %s\n  %s\n", kind.Name, verdict, strings.Join(lines, "\n  "))
	}
	if lacking {
		return &exit{code: exitFailed}
	}
	return nil
}

const notReady = "not ready"

func examine(ctx context.Context, needs []cluster.Need) (verdict string, lines []string) {
	verdict = "ready"
	for _, n := range needs {
		found, err := n.Find(ctx)
		err = cluster.WithoutClusterName(err)
		switch {
		case err == nil:
			lines = append(lines, fmt.Sprintf("%s: %s", n.Name, found))
		case n.Optional == "":
			verdict = notReady
			lines = append(lines, fmt.Sprintf("%s: missing: %v", n.Name, err))
		default:
			if verdict != notReady {
				verdict = "ready, but for " + n.Optional
			}
			lines = append(lines, fmt.Sprintf("%s, for %s: missing: %v", n.Name, n.Optional, err))
		}
	}
	return verdict, lines
}
