package main

import (
	"context"
	"fmt"
	"net/url"
	"runtime/debug"
	"syscall/js"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/site"
)

// main passes the worker a function that answers requests, and runs for ever.
func main() {
	debug.SetGCPercent(1600) // as in a child process: most memory of a trial is garbage
	pages := site.New(suite.Run, false)
	answer := js.FuncOf(func(_ js.Value, args []js.Value) any {
		path, query, posted, done := args[0].String(), args[1].String(), args[2].Bool(), args[3]
		go func() { // a call from JavaScript must not block
			form, err := url.ParseQuery(query)
			if err != nil {
				done.Invoke(400, "text/plain", fmt.Sprintf("The form cannot be read: %v.", err))
				return
			}
			page := pages.Answer(context.Background(), site.Request{Path: path, Form: form, Posted: posted})
			done.Invoke(page.Status, page.Type, string(page.Body))
		}()
		return nil
	})
	js.Global().Call("lockproofReady", answer)
	select {}
}
