// Package docker is a cluster of real containers. Compose starts compose/docker-compose.yml under a unique project
// name; faults go through the engine's API. The servers' folders and the links are on the host, as on the local
// cluster: containers mount the folders, and reach their links through a forwarder. Each client is a process on the
// host. Time is real.
//
// A project takes seconds to start, so a harness keeps its projects (Projects) from run to run. Nothing outlives the
// harness: Close removes every container and network. Clean finds a killed harness's remains by their labels
// and removes them, as every harness does when it starts.
package docker
