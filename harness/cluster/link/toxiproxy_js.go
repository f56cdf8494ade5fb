package link

// startTCP is unavailable: toxiproxy needs sockets, which a browser lacks.
func startTCP(*connection) {
	panic("link: a program for browsers has direct links only: set Config.Direct")
}
