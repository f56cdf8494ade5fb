package arrows

// allowed is one folder of the repository with Go files in it.
type allowed struct {
	name string // its path from the repository's root
	// imports are the rooms that it may import, separated by spaces. Each stands above it in the table: arrows run
	// one way.
	imports string
}

// table lists every room, from the floor to the roof. It restricts programs; tests may import any room.
var table = []allowed{
	// Independent: data, and what could be a module for others.
	{"redlock", ""},
	{"redlock/server", "redlock"},
	{"redlock/batch", "redlock redlock/server"},
	{"redlock/guard", "redlock redlock/server"},
	{"redlock/native", "redlock redlock/server"},
	{"redlock/rig", "redlock redlock/guard redlock/server"},
	{"redlock/redlockotel", "redlock redlock/server"},
	{"compose", ""},
	{"compose/shim", ""},
	{"internal/arrows", ""},
	{"internal/filelock", ""},
	{"internal/golden", ""},
	{"internal/input", ""},
	{"internal/input/inputtest", ""},
	{"internal/input/yamlfile", "internal/input"},
	{"internal/needs", ""},
	{"internal/browser", "internal/needs"},
	{"internal/plain", ""},
	{"internal/suggest", ""},
	{"internal/wording", ""},

	// The common format, and its judges: neither knows the source of a history. history imports only the way to open
	// a user's file.
	{"harness", ""},
	{"harness/history", "internal/input"},
	{"checker/traffic", "harness/history"},
	{"checker", "checker/traffic harness/history"},

	// One run: the locks, their clients, the clusters.
	{"harness/locks", "harness/history redlock"},
	{"harness/locks/builtin", "harness/history harness/locks redlock redlock/batch redlock/guard redlock/native " +
		"redlock/server"},
	{"harness/cluster/realtime", "harness/history"},
	{"harness/cluster/virtual/scheduler", ""},
	{"harness/overlay", ""},
	{"harness/interleave", ""},
	{"harness/interleave/rewrite", "harness/interleave"},
	{"harness/cluster", "harness/history internal/wording"},
	{"harness/cluster/script", "harness/history"},
	{"harness/cluster/link", "harness/cluster harness/cluster/script harness/cluster/virtual/scheduler harness/history"},
	{"harness/client", "harness/cluster harness/cluster/link harness/cluster/realtime " +
		"harness/cluster/virtual/scheduler harness/history " +
		"harness/locks" +
		" harness/locks/builtin harness/overlay internal/input redlock"},
	{"harness/cluster/clustertest", "harness/cluster harness/history"},
	{"harness/cluster/shim", "compose/shim harness/cluster harness/cluster/realtime"},
	{"harness/cluster/process", "harness/client harness/cluster/realtime harness/locks internal/filelock"},
	{"harness/cluster/virtual/bubble", ""},
	{"harness/cluster/virtual", "harness/client harness/cluster harness/cluster/link harness/cluster/script" +
		" harness/cluster/virtual/bubble harness/cluster/virtual/scheduler harness/history redlock/server"},
	{"harness/cluster/realcluster", "harness/client harness/cluster harness/cluster/link harness/cluster/process" +
		" harness/cluster/realtime harness/cluster/script harness/cluster/shim harness/history"},
	{"harness/cluster/local", "harness/client harness/cluster harness/cluster/process harness/cluster/realcluster " +
		"harness/cluster/shim"},
	{"harness/cluster/docker", "compose harness/client harness/cluster " +
		"harness/cluster/process harness/cluster/realcluster harness/cluster/realtime harness/history"},

	{"harness/external", "harness/client harness/cluster/process harness/cluster/realtime harness/history harness/locks"},

	// Faults, scenarios and the runs of both.
	{"nemesis", "harness/cluster harness/history internal/wording"},
	{"scenarios", "checker harness/cluster harness/history harness/locks internal/input internal/input/yamlfile " +
		"internal/suggest nemesis redlock"},
	{"checker/cause", "harness/history internal/wording scenarios"},
	{"harness/trial", "checker harness/client harness/cluster harness/cluster/virtual/bubble harness/history " +
		"harness/interleave harness/locks" +
		" nemesis scenarios"},
	{"harness/suite", "checker checker/cause harness/cluster harness/cluster/local harness/cluster/process " +
		"harness/cluster/virtual harness/cluster/virtual/bubble" +
		" harness/history harness/interleave harness/locks harness/locks/builtin harness/overlay harness/trial" +
		" internal/wording redlock scenarios"},

	// Rooms that request trials, and rooms that report results.
	{"explore",
		"checker harness/cluster harness/history harness/locks harness/suite internal/input internal/wording nemesis" +
			" scenarios"},
	{"validate/settings", "internal/input nemesis"},
	{"validate/deploy", "internal/input internal/input/yamlfile validate/settings"},
	{"validate", "checker harness/cluster harness/history" +
		" harness/locks harness/suite nemesis scenarios validate/deploy validate/settings"},
	{"reports/terminal", "internal/plain"},
	{"reports", "checker checker/cause checker/traffic harness/history harness/locks harness/suite internal/filelock " +
		"internal/input" +
		" internal/wording nemesis reports/terminal scenarios"},
	{"reports/validation", "internal/wording reports reports/terminal validate validate/deploy validate/settings"},
	{"reports/html", "checker harness/suite reports scenarios"},
	{"harness/locktest", "checker explore harness/client harness/cluster harness/cluster/process" +
		" harness/cluster/virtual/bubble harness/history harness/interleave" +
		" harness/locks harness/overlay harness/suite redlock reports reports/html reports/terminal scenarios"},
	{"docs/guide", ""},
	{"lab", "checker harness/cluster harness/history harness/locks harness/suite nemesis redlock scenarios"},
	{"lab/exercise", "explore harness/history harness/locks harness/suite lab redlock scenarios"},
	{"site", "checker docs/guide harness/history harness/suite lab lab/exercise redlock reports reports/html scenarios"},
	{"site/chapters", "docs/guide lab site"},
	{"serve", "harness/suite reports site site/chapters"},

	// The programs.
	{"cmd/lockproof",
		"checker explore harness/client harness/cluster harness/cluster/docker " +
			"harness/cluster/process harness/external harness/history harness/interleave/rewrite harness/locks " +
			"harness/overlay harness/suite internal/plain internal/suggest internal/wording redlock" +
			" reports reports/html reports/terminal reports/validation scenarios serve validate validate/deploy " +
			"validate/settings"},
	{"site/engine", "harness/suite site"},
	{"site/front", "checker harness/history harness/suite internal/wording lab reports scenarios site"},
	{"site/static", "docs/guide harness/suite lab lab/exercise site site/chapters site/front"},
}
