package builtin

// single-one-release makes the mistake: it drops the token before the release is confirmed, so that it cannot repeat
// the release.
func init() {
	naive("single-one-release",
		"one node, naive: a release is sent once, on the caller's context: if that ends first, the key stays",
		true, func(*nodeLock) {})
}
