package deploy

import (
	"path/filepath"
	"regexp"
)

// source is a format that another program must render before it describes a server.
type source struct {
	what, command string         // command names the rendered form, and how to get it
	is            *regexp.Regexp // matches the file's name, a line's end, and its text
}

const (
	chartCommand = "objects (helm template RELEASE CHART -f values.yaml | lockproof validate -)"
	hostCommand  = "files as they are on the host (the redis.conf and systemctl cat redis)"
	madeCommand  = "objects of what it made (docker inspect CONTAINER, or kubectl get statefulset NAME -o yaml)"
	runCommand   = "container (docker inspect CONTAINER)"
)

var sources = []source{
	{"a Helm chart", chartCommand, regexp.MustCompile(`^Chart\.yaml\n|(?s)\{\{.*\.Values|\.Values.*\{\{`)},
	{"a kustomization", "objects (kubectl kustomize . | lockproof validate -)",
		regexp.MustCompile(`^kustomization\.|kind: Kustomization`)},
	{"Terraform", madeCommand, regexp.MustCompile(`^.*\.(?:tf|tfvars|tf\.json)\n|` +
		`(?m:^(?:resource|provider|module|terraform|data) (?:"[^"]+" )*(?:"[^"]+" )?\{)`)},
	{"CloudFormation", madeCommand, regexp.MustCompile(`AWSTemplateFormatVersion|AWS::ElastiCache|AWS::MemoryDB`)},
	{"a Nomad job", "container (docker inspect CONTAINER, of an allocation that runs)",
		regexp.MustCompile(`^.*\.(?:nomad|hcl)\n|(?m:^job "[^"]+" \{)`)},
	// a list of plays, or of tasks that call a module
	{"Ansible", hostCommand, regexp.MustCompile(`(?m)^(?:- (?:hosts|import_playbook|include_role|import_role|` +
		`include_tasks|import_tasks):|- name:.*\n(?:  .*\n)*?  ` +
		`(?:hosts|tasks|roles|ansible\.[a-z.]+|community\.[a-z_.]+|apt|dnf|yum|package|template|copy|file|service|` +
		`systemd|lineinfile|docker_container):)`)},
	{"a Jinja template", hostCommand, regexp.MustCompile(`^.*\.j2\n|\{%`)},
	{"a shell script", runCommand, regexp.MustCompile(
		`^.*\n#!|(?m:^\s*(?:sudo )?(?:docker|podman) (?:container )?(?:run|create)\s)`)},
	{"a Dockerfile", runCommand, regexp.MustCompile(`^(?:Dockerfile|.*\nFROM )`)},
}

// chartValues are files with such a name and none of topKey, which any other file of that name has.
var (
	chartValues = regexp.MustCompile(`^values.*\.ya?ml$`)
	topKey      = regexp.MustCompile(`(?m)^(?:services|kind|apiVersion):`)
)

// sourceOf is the format of a file that another program must render, nil for any other file.
func sourceOf(g textFile) *source {
	name := filepath.Base(g.file)
	for i, s := range sources {
		if s.is.MatchString(name + "\n" + g.text) {
			return &sources[i]
		}
	}
	if chartValues.MatchString(name) && !topKey.MatchString(g.text) {
		return &source{what: "a Helm chart's values", command: chartCommand}
	}
	return nil
}
