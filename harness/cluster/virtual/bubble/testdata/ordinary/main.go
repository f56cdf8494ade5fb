// Command ordinary runs bubbles outside go test, for bubble_test.go.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster/virtual/bubble"
)

func main() {
	var elapsed time.Duration
	err := bubble.Run(func() {
		began := time.Now()
		time.Sleep(time.Hour)
		elapsed = time.Since(began)
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(elapsed)
	err = bubble.Run(func() { panic("boom") })
	fmt.Println("panic:", yes(err != nil && strings.Contains(err.Error(), "boom")))
	err = bubble.Run(func() { <-make(chan int) })
	fmt.Println("deadlock:", yes(errors.Is(err, bubble.ErrDeadlock)))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
