package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/cluster/docker/proxy"
)

// proxyCommand is the network of a compose project, in one of its containers. The
// compose file starts it; it is not for users.
func (p *program) proxyCommand() *cobra.Command {
	var volumes string
	var check bool
	cmd := &cobra.Command{
		Use:    "proxy",
		Short:  "Serve as the network of a compose project, in one of its containers",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				here := proxy.NewClient(fmt.Sprintf("127.0.0.1:%d", proxy.APIPort))
				if _, err := proxy.Clock.Send(cmd.Context(), here, struct{}{}); err != nil {
					return failed(err)
				}
				return nil
			}
			ctx, stop := p.interruptible(cmd.Context())
			defer stop()
			s, err := proxy.NewServer(volumes)
			if err != nil {
				return failed(err)
			}
			if err := s.Serve(ctx, proxy.APIPort); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&volumes, "volumes", "/volumes", "folder with the servers' volumes, one each")
	cmd.Flags().BoolVar(&check, "check", false, "only check that the server here is healthy")
	return cmd
}
