// Package rest is Berth's HTTP API: api/openapi.yaml is its contract, and a test holds the two together.
package rest
