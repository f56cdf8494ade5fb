package settings

// Service is a managed service, as its own documents describe it. What it does was not
// tried: the trials are of a master and replicas that do what is documented.
type Service struct {
	Name string `json:"name"`
	Says string `json:"says"` // one clause
	Page string `json:"page"` // that says so
	// Durable: a write is acknowledged only when whoever is promoted will have it. The
	// trials let the lock wait for every replica in its place.
	Durable bool `json:"durable"`
}

// Services lists them.
func Services() []Service {
	const aws = "https://docs.aws.amazon.com/"
	return []Service{
		{"elasticache", "replication is asynchronous, and a failover may lose what had not been replicated",
			aws + "AmazonElastiCache/latest/UserGuide/AutoFailover.html", false},
		{"elasticache-async-writes",
			"with asynchronous writes up to 10 seconds of uncommitted data can be lost in a failover",
			aws + "AmazonElastiCache/latest/dg/Durability.FailureScenarios.html", false},
		{"elasticache-sync-writes", "with synchronous writes to the transactional log a failover loses nothing",
			aws + "AmazonElastiCache/latest/dg/Durability.FailureScenarios.html", true},
		{"memorydb", "a write is in a transactional log of several zones before it is answered, also across failovers",
			aws + "memorydb/latest/devguide/consistency.html", true},
		{"upstash", "a write is propagated to the other replicas asynchronously, and consistency is eventual",
			"https://upstash.com/docs/redis/features/consistency", false},
		{"memorystore-valkey", "replicas take over for maintenance and failures; Valkey's replication is asynchronous " +
			"(https://valkey.io/topics/replication/)", "https://cloud.google.com/memorystore/docs/valkey/ha-and-replicas",
			false},
	}
}

// ServiceNames gives their names.
func ServiceNames() (names []string) {
	for _, s := range Services() {
		names = append(names, s.Name)
	}
	return names
}
