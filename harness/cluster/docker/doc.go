// Package docker is a cluster of real containers. Compose starts compose/docker-compose.yml under a unique project
// name; faults go through the engine's API. Each client is a process on the host. toxiproxy, in a container of the
// project, is the network between each client and each server. Time is real.
//
// A project takes seconds to start, so a harness keeps its projects (Projects) from run to run. Nothing outlives the
// harness: Close removes every container, network and volume. Clean finds a killed harness's remains by their labels
// and removes them, as every harness does when it starts.
package docker
