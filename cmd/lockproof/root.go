package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/lockproof/reports/terminal"
)

func (p *program) execute(ctx context.Context, args []string) error {
	root := p.root()
	root.SetArgs(args)
	p.command = root.CommandPath()
	if cmd, _, err := root.Find(args); err == nil {
		p.command = cmd.CommandPath()
	}
	if err := knownCommand(root, args); err != nil {
		return err
	}
	return root.ExecuteContext(ctx)
}

const helpWidth = 96 // columns

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockproof",
		Short: "Fault injection and correctness checks for Redis distributed locks",
		Long: `Lockproof tests a Redis lock under faults and reports, with proof, whether two
clients ever held it at once.`,
		Example: `  lockproof run                            the whole catalogue, in virtual time
  lockproof run clock-jump-forward --on local --trials 10
  lockproof run --lock redsync             another lock against the same faults
  lockproof show client-pause              what happens in a scenario, and why
  lockproof check out/trials/client-pause/000/history.jsonl`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			// By default SIGPIPE ends a Go program, which is right for hidden commands. It is caught, not
			// ignored: child processes would inherit an ignored signal.
			if !cmd.Hidden {
				signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			}
			return refuseEmpty(cmd)
		},
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.runCommand(), p.exploreCommand(), p.mergeCommand(), p.compareCommand(), p.listCommand(),
		p.showCommand(), p.checkCommand(), p.testCommand(),
		p.validateCommand(), p.serveCommand(), p.doctorCommand(), p.cleanCommand(),
		p.workerCheckCommand())
	root.AddCommand(p.processCommands()...)
	width := min(p.screen.Width, helpWidth)
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = strings.Join(wrapped(cmd.Long, width), "\n")
	}
	flags := fmt.Sprintf(".FlagUsagesWrapped %d", width)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", flags))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// entry is the name of an indented entry, with the spaces around it.
var entry = regexp.MustCompile(`^ +\S+ +`)

// wrapped fits a text to a width. It joins the lines of a paragraph; an empty or indented line stays by itself.
func wrapped(text string, width int) (lines []string) {
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			lines = append(lines, terminal.Hanging("", paragraph, width)...)
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = strings.TrimSpace(paragraph + " " + line)
			continue
		}
		flush()
		name := entry.FindString(line)
		lines = append(lines, terminal.Hanging(name, line[len(name):], width)...)
	}
	flush()
	return lines
}

// knownCommand refuses an unknown command, before cobra reports its flags as
// unknown.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) > 1 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.Name() == args[0] {
			return nil
		}
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return usage("there is no command %q: %s", args[0], instead(args[0], names))
}

func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		return usage("%s has no flag %s: %s", cmd.CommandPath(), name, instead(name, names))
	case errors.As(err, &bad):
		return usage("--%s %s: %s", bad.GetFlag().Name, bad.GetValue(), argumentsText(bad.GetFlag()))
	}
	return usage("%s: %v", cmd.CommandPath(), err)
}

// refuseEmpty refuses a flag with an empty value, for example of an unset variable: the default would run in its place.
func refuseEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); err == nil && (value == "" || value == "[]") {
			err = usage("--%s is empty: give a value, or leave out the flag", f.Name)
		}
	})
	return err
}

func argumentsText(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "want a duration with a unit, for example 500ms, 30s or 2m"
	case "durationSlice":
		return "want durations with units, for example 30s,5s"
	case "int", "uint64":
		return "want a whole number, 0 or more"
	case "bool":
		return "want true or false"
	}
	return fmt.Sprintf("want a %s", f.Value.Type())
}

// arguments checks the number of a command's arguments.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs %s: %s", cmd.CommandPath(), what, cmd.UseLine())
		case most == 0 && len(args) > 0:
			return usage("%s: unexpected argument %q: want %s", cmd.CommandPath(), args[0], what)
		case most >= 0 && len(args) > most:
			return usage("%s: unexpected argument %q: want no more than %s", cmd.CommandPath(), args[most], what)
		}
		return nil
	}
}
