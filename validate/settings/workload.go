package settings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"lockproof/internal/input/yamlfile"
)

// document is one document of a YAML file, with anchors and merges resolved.
type document struct {
	file  string
	index int // among the file's documents
	body  ast.Node
	// above leads to an item of a List, which is read as if it were a document: nothing for
	// what is one.
	above []any
	root  map[string]any
}

// path leads to a value of the document.
func (d document) path(steps ...any) yamlfile.Path {
	return yamlfile.Path{Document: d.index, Steps: slices.Concat(d.above, steps)}
}

// parseYAMLPolicy reads a compose file or Kubernetes workloads.
func parseYAMLPolicy(file string, data []byte, service string) (Policy, error) {
	documents, err := readDocuments(file, data)
	if err != nil {
		return Policy{}, err
	}
	for _, d := range documents {
		if _, ok := d.root["services"].(map[string]any); ok {
			return parseCompose(d, service)
		}
	}
	for _, d := range documents {
		if _, ok := d.root["kind"].(string); ok {
			return parseKubernetes(file, documents, service)
		}
	}
	return Policy{}, &Problem{Place: Place{File: file}, What: "this is no restart policy that can be read", Right: wantedPolicy}
}

func readDocuments(file string, data []byte) ([]document, error) {
	var read []yamlfile.Document
	tree, wrong := yamlfile.Parse(data)
	if wrong == nil {
		read, wrong = yamlfile.Decode(tree)
	}
	if wrong != nil {
		return nil, &Problem{Place: Place{file, wrong.Line}, Column: wrong.Column, What: wrong.What, Right: wrong.Right}
	}
	var documents []document
	for _, d := range read {
		if root, ok := d.Value.(map[string]any); ok {
			documents = append(documents, document{file: file, index: d.Index, body: d.Body, root: root}.items()...)
		}
	}
	return documents, nil
}

// items are the objects of a List, as kubectl get prints one, and of the Lists in it; of
// anything else it is the document itself.
func (d document) items() (all []document) {
	kind, _ := d.root["kind"].(string)
	if items, ok := d.root["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		for i, item := range items {
			if root, ok := item.(map[string]any); ok {
				all = append(all, document{d.file, d.index, d.body, slices.Concat(d.above, []any{"items", i}), root}.items()...)
			}
		}
		return all
	}
	return []document{d}
}

// at finds the line of a path; what comes by an anchor has the file's name only.
func (d document) at(path ...string) Place {
	place := Place{File: d.file}
	builder := (&yaml.PathBuilder{}).Root()
	for _, step := range slices.Concat(d.above, anys(path)) {
		switch step := step.(type) {
		case string:
			builder = builder.Child(step)
		case int:
			builder = builder.Index(uint(step))
		}
	}
	node, err := builder.Build().FilterNode(d.body)
	if err == nil && node != nil && node.GetToken() != nil {
		place.Line = node.GetToken().Position.Line
	}
	return place
}

// dig follows keys down.
func dig(root any, path ...string) any {
	for _, key := range path {
		m, ok := root.(map[string]any)
		if !ok {
			return nil
		}
		root = m[key]
	}
	return root
}

// besides are words of what runs beside a Redis and is none.
var besides = regexp.MustCompile(`(?i)export|metrics|commander|insight|sentinel|proxy|backup|operator|admin|\bui\b|\bcli\b`)

// isServer tells the containers that run Redis by image and name.
func isServer(name, image string) bool {
	text := strings.ToLower(name + " " + image)
	return (strings.Contains(text, "redis") || strings.Contains(text, "valkey")) && !besides.MatchString(text)
}

// serves reports whether a command may be that of a server which grants locks by itself.
func serves(entry, args any) bool {
	text := fmt.Sprint(entry, " ", args)
	return !besides.MatchString(text) && !follows.MatchString(noOne.ReplaceAllString(text, ""))
}

// choose picks the service that is meant.
func choose(file string, names, servers []string, asked string) (string, error) {
	slices.Sort(names)
	slices.Sort(servers)
	switch {
	case asked != "" && slices.Contains(names, asked):
		return asked, nil
	case asked != "":
		return "", &Problem{Place: Place{File: file}, What: fmt.Sprintf("there is no service %q", asked),
			Right: "there are " + strings.Join(names, ", ")}
	case len(names) == 1:
		return names[0], nil
	case len(servers) >= 1:
		return servers[0], nil
	}
	return "", &Problem{Place: Place{File: file}, What: "none of the services is a Redis by its name or image",
		Right: "name it with --service: there are " + strings.Join(names, ", ")}
}

// words reads a command that is a list or one text.
func words(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return splitWords(v)
	case []any:
		var list []string
		for _, word := range v {
			list = append(list, fmt.Sprint(word))
		}
		return list, nil
	}
	return nil, fmt.Errorf("it is neither a text nor a list")
}

// command reads an entrypoint with its arguments.
func command(at Place, entry, args any) (commandLine, error) {
	first, err := words(entry)
	if err != nil {
		return commandLine{}, &Problem{Place: at, What: "the command cannot be read: " + err.Error(), Right: "write it as a list of words"}
	}
	second, err := words(args)
	if err != nil {
		return commandLine{}, &Problem{Place: at, What: "the command cannot be read: " + err.Error(), Right: "write it as a list of words"}
	}
	return readCommand(at, append(first, second...)), nil
}

// returns fills in a policy whose server is back this soon after a kill, and
// else at its next start.
func (p *Policy) returns(kill time.Duration, why map[Crash]string, c commandLine) {
	p.started(c)
	p.Returns = map[Crash]Return{}
	for _, crash := range Crashes {
		r := Return{After: c.sleep, Why: why[crash], Unsure: c.unsure}
		if crash == Kill {
			r.After += kill
		}
		if c.sleep > 0 {
			r.Why = fmt.Sprintf("its command sleeps for %s at every start", c.sleep)
		}
		p.Returns[crash] = r
	}
}

// started takes what a command says of its server.
func (p *Policy) started(c commandLine) {
	p.Overrides, p.Config, p.Command = c.overrides, c.config, cmp.Or(c.server, "redis-server")
	if why := cmp.Or(c.unsure, c.open); why != "" {
		p.notRead(p.store.at, why)
	}
	p.start.script, p.start.sleep, p.start.unsure = c.script, c.sleep, c.unsure
	if c.config != nil {
		p.Command += " " + c.config.Path
	}
}
