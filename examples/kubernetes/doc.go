// Package kubernetes checks docs/ci/kubernetes.yaml against the types of Kubernetes' own API.
// It is a module of its own, so that no other module needs that API.
package kubernetes
