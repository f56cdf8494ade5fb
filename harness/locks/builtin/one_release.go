package builtin

// single-one-release makes the mistake: the token is dropped before the release is known to have
// arrived, so that nobody can send it again.
func init() {
	naive("single-one-release",
		"one node, naive: a release is sent once, on the caller's context: if that ends first, the key stays",
		true, func(*nodeLock) {})
}
