package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// A failure without faults is bad usage, with the lock's own error.
func TestPreflight(t *testing.T) {
	granted := history.Event{Op: history.OpAcquire, Type: history.TypeOK, Validity: 1}
	for _, c := range []struct {
		name, lock string
		done       suite.Result
		nodes      int
		err        string
	}{
		{"a lock on one server that works", "single", suite.Result{Events: []history.Event{granted}}, 1, ""},
		{"a lock on five servers that works", "redlock", suite.Result{Events: []history.Event{granted}}, 5, ""},
		{"an exception in acquire", "single",
			suite.Result{Events: []history.Event{{Op: history.OpAcquire, Type: history.TypeFail, Error: "NameError (my.py:7)"}}},
			1,
			"--worker, before any row: the lock was not granted, without faults and other clients: NameError (my.py:7)"},
		{"a program that dies", "single", suite.Result{Failure: "exit status 1"}, 1,
			"--worker, before any row: the lock fails without faults: exit status 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fake(nil)
			p.suite = func(_ context.Context, jobs []suite.Job, o suite.Options, _ func(suite.Result)) ([]suite.Result, error) {
				require.Len(t, jobs[0].Scenario.Nodes, c.nodes)
				require.True(t, o.Events)
				return []suite.Result{c.done}, nil
			}
			err := p.preflight(context.Background(), suite.Options{Cluster: suite.Local, Lock: c.lock})
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.err)
			requireExit(t, exitUsage, err)
		})
	}
}

// A worker declares no names of keys by its lease, as a lock in Go does.
func TestPreflight_OneKeyForAll_OnOneServer_IsNoted(t *testing.T) {
	for key, notices := range map[string]int{"lock": 2, "lock:k1": 1} {
		locks.Register(locks.Kind{Name: key, Program: true, External: true})
		p := fake(nil)
		p.suite = func(context.Context, []suite.Job, suite.Options, func(suite.Result)) ([]suite.Result, error) {
			set := history.Event{Type: history.TypeReply, Process: "c1>n1",
				Command: &history.Command{Key: key, Effect: history.EffectSet, Done: true}}
			return []suite.Result{{Events: []history.Event{{Op: history.OpAcquire, Type: history.TypeInvoke, Key: "k1"},
				set, set, {Type: history.TypeReply, Process: "c1>store"},
				{Op: history.OpAcquire, Type: history.TypeOK, Key: "k1", Validity: 1}}}}, nil
		}
		require.NoError(t, p.preflight(context.Background(), suite.Options{Cluster: suite.Local, Lock: key}))
		kind, err := locks.Find(key)
		require.NoError(t, err)
		require.Len(t, kind.Notices, notices)
		if notices == 2 {
			require.Contains(t, kind.Notices[0], `it sets ["lock"], which does not contain the caller's key`)
		}
		require.Equal(t, "it uses only n1 of 5 servers: if it never uses the others, run it with --nodes 1",
			kind.Notices[notices-1])
	}
}

// The lock is not to blame: nothing was decided.
func TestPreflight_Interrupted_ExitsAsInconclusive(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	p := fake(nil)
	p.suite = func(context.Context, []suite.Job, suite.Options, func(suite.Result)) ([]suite.Result, error) {
		stop()
		return []suite.Result{{Failure: "worker c1 ended with signal: killed"}}, nil
	}
	err := p.preflight(ctx, suite.Options{Cluster: suite.Local, Lock: "single"})
	requireExit(t, reports.ExitInconclusive, err)
	require.EqualError(t, err, "interrupted before the first row")
}

func TestWorkerCheck_Interrupted_IsInconclusive(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	got := fake(expected).tryWith(ctx, "", "worker-check", "sleep 100")
	require.Equal(t, reports.ExitInconclusive, got.code, got.out)
	require.Contains(t, got.out+got.err, "interrupted: the worker was not checked to the end")
}
