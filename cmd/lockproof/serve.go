package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"example.org/lockproof/serve"
)

// serveAddr is the default address.
const serveAddr = "127.0.0.1:7420"

func (p *program) serveCommand() *cobra.Command {
	addr := serveAddr
	cmd := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show runs and the lab in a browser",
		Long: `Shows the runs below a folder (default: this one) in a browser: the result of each,
its report, and the progress of running ones. In the lab you predict a verdict, watch
the run in virtual time, and change the TTL, a delay, a rule or a fault.

The server answers on this machine alone, until it is interrupted.`,
		Example: `  lockproof serve
  lockproof serve reports/published
  lockproof serve --addr 127.0.0.1:0      a port that is free`,
		Args: arguments(0, 1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return p.serve(cmd.Context(), addr, dir)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "address to answer on: one of this machine alone, with a port")
	return cmd
}

// windowsInUse is WSAEADDRINUSE, the EADDRINUSE of Windows.
const windowsInUse = syscall.Errno(10048)

func (p *program) serve(ctx context.Context, addr, dir string) error {
	if err := checkLoopback(addr); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("there is no folder %s: name one that holds runs, as in lockproof serve out", dir)
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsInUse) {
		return usage("--addr %s is in use: name another port, or 0 for one that is free", addr)
	}
	if err != nil {
		return usage("--addr %s: %w", addr, err)
	}
	defer l.Close()
	ctx, stop := p.interruptible(ctx)
	defer stop()
	server, err := serve.New(ctx, dir, p.suite)
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(p.out, "Open http://%s in a browser. Ctrl-C ends this.\n", l.Addr())
	if err := errors.Join(server.Serve(l), server.Close()); err != nil {
		return failed(err)
	}
	return nil
}

// checkLoopback refuses any other address than a loopback one: every client of
// the server can read the runs.
func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err == nil && errors.Is(portErr, strconv.ErrRange) {
		return usage("--addr %s: a port is a number from 0 to 65535", addr)
	}
	if err != nil || portErr != nil {
		return usage("--addr %s: give an address and a port, as in --addr %s", addr, serveAddr)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("--addr %s: lockproof serves this machine alone: 127.0.0.1:%d, localhost:%d or [::1]:%d is right", addr,
			number, number, number)
	}
	return nil
}
