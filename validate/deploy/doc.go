// Package deploy reads what an operator runs. classify (read.go) tells formats apart. A reader of one makes units or
// containers, and servers of them: it establishes links of a server's [Chain], and what no list of allowed.txt has
// breaks one. Each rule has a case in cmd/lockproof/testdata/deployments.
package deploy
