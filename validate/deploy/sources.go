package deploy

import (
	"path/filepath"
	"regexp"
	"strings"
)

// source is a form that describes a server only once another program has rendered it.
type source struct {
	what, command string // command says how what it renders is had
	is            func(base, ext, data string) bool
}

const (
	chartCommand = "objects (helm template RELEASE CHART -f values.yaml | lockproof validate -)"
	hostCommand  = "files as they are on the host (the redis.conf and systemctl cat redis)"
	madeCommand  = "objects of what it made (docker inspect CONTAINER, or kubectl get statefulset NAME -o yaml)"
)

var sources = []source{
	{"a Helm chart", chartCommand, func(base, _, data string) bool {
		return base == "Chart.yaml" || strings.Contains(data, "{{") && strings.Contains(data, ".Values")
	}},
	{"a Helm chart's values", chartCommand, func(base, ext, data string) bool {
		return strings.HasPrefix(base, "values") && (ext == ".yaml" || ext == ".yml") && !topKey.MatchString(data)
	}},
	{"a kustomization", "objects (kubectl kustomize . | lockproof validate -)", func(base, _, data string) bool {
		return strings.HasPrefix(base, "kustomization.") || strings.Contains(data, "kind: Kustomization")
	}},
	{"Terraform", madeCommand, func(base, ext, data string) bool {
		return ext == ".tf" || ext == ".tfvars" || strings.HasSuffix(base, ".tf.json") || hclBlock.MatchString(data)
	}},
	{"CloudFormation", madeCommand, func(_, _, data string) bool {
		return strings.Contains(data, "AWSTemplateFormatVersion") || strings.Contains(data, "AWS::ElastiCache") ||
			strings.Contains(data, "AWS::MemoryDB")
	}},
	{"a Nomad job", "container (docker inspect CONTAINER, of an allocation that runs)", func(_, ext, data string) bool {
		return ext == ".nomad" || ext == ".hcl" || nomadJob.MatchString(data)
	}},
	{"Ansible", hostCommand, func(_, _, data string) bool { return playbook.MatchString(data) }},
	{"a Jinja template", hostCommand,
		func(_, ext, data string) bool { return ext == ".j2" || strings.Contains(data, "{%") }},
	{"a shell script", "container (docker inspect CONTAINER)",
		func(_, _, data string) bool { return shellScript.MatchString(data) }},
	{"a Dockerfile", "container (docker inspect CONTAINER)", func(base, _, data string) bool {
		return strings.HasPrefix(base, "Dockerfile") || strings.HasPrefix(data, "FROM ")
	}},
}

var (
	shellScript = regexp.MustCompile(`^#!|(?m:^\s*(?:sudo )?(?:docker|podman) (?:container )?(?:run|create)\s)`)
	topKey      = regexp.MustCompile(`(?m)^(?:services|kind|apiVersion):`)
	hclBlock    = regexp.MustCompile(`(?m)^(?:resource|provider|module|terraform|data) (?:"[^"]+" )*(?:"[^"]+" )?\{`)
	nomadJob    = regexp.MustCompile(`(?m)^job "[^"]+" \{`)
	// playbook is a list of plays, or of tasks that call a module.
	playbook = regexp.MustCompile(`(?m)^(?:- (?:hosts|import_playbook|include_role|import_role|include_tasks|` +
		`import_tasks):|- name:.*\n(?:  .*\n)*?  ` +
		`(?:hosts|tasks|roles|ansible\.[a-z.]+|community\.[a-z_.]+|apt|dnf|yum|package|template|copy|file|service|` +
		`systemd|lineinfile|docker_container):)`)
)

// sourceOf is the form of a file that another program has to render, nil for any other.
func sourceOf(g given) *source {
	for i, s := range sources {
		if s.is(filepath.Base(g.file), filepath.Ext(g.file), g.text) {
			return &sources[i]
		}
	}
	return nil
}
