// Package kubernetes checks docs/ci/kubernetes.yaml against the types of Kubernetes' own API.
// It is a module of its own, so that nobody else needs these.
package kubernetes
