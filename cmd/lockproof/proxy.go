package main

import (
	"github.com/spf13/cobra"

	"lockproof/harness/cluster/docker/proxy"
)

// proxyCommand is the network of a compose project, in a container of it. The
// compose file starts it; it is not for users.
func (p *program) proxyCommand() *cobra.Command {
	s := &proxy.Server{FirstPort: proxy.FirstPort}
	cmd := &cobra.Command{
		Use:    "proxy",
		Short:  "Serve as the network of a compose project, in one of its containers",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := p.interruptible(cmd.Context())
			defer stop()
			if err := s.Serve(ctx, proxy.APIPort); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&s.Ports, "ports", 30, "how many ports, from 7001 on, links may listen on")
	cmd.Flags().StringVar(&s.Volumes, "volumes", "/volumes", "folder with the servers' volumes, one each")
	return cmd
}
