// Package temporal connects Berth's processes to Temporal: connection settings, the payload codec, search attributes.
package temporal
