// Package contract is what both sides of a task queue agree on: names, ids, messages, errors, and the options of
// activities. Workflows, activities, the API and the workers all build on it; it builds on none of them.
package contract

// Number is the version of this contract. An agent with another number is admitted cordoned.
const Number = 1
