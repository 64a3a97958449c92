package v1

// Accepted answers a PUT and every verb as soon as the request is recorded; waiting for its effect is the client's.
type Accepted struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	// Changed is created, updated or unchanged, for a PUT.
	Changed string `json:"changed,omitempty"`
	// Seq counts the accepted requests of a workload.
	Seq int64 `json:"seq,omitempty"`
	// RequestID is the Idempotency-Key, or what stood in for it: a repeat with it gets the same answer.
	RequestID string `json:"requestId,omitempty"`
	// DryRun is true if nothing was recorded; ChangedFields are then the paths of what would change.
	DryRun        bool     `json:"dryRun,omitempty"`
	ChangedFields []string `json:"changedFields,omitempty"`
	// Host is the one that a dry run of a new workload would choose, Refusals why others would not take it.
	Host     string   `json:"host,omitempty"`
	Refusals []string `json:"refusals,omitempty"`
	// Kept, after a DELETE, is what will stay on the host.
	Kept []Kept `json:"kept,omitempty"`
}

// WorkloadList is one page of workloads, sorted by name within the page.
type WorkloadList struct {
	Items []View `json:"items"`
	// NextPageToken asks for the next page; it is empty on the last.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// HostList is one page of hosts, sorted by name within the page.
type HostList struct {
	Items         []Host `json:"items"`
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// ActionList is one page of actions, newest first.
type ActionList struct {
	Items []Action `json:"items"`
	// NextPageToken asks for the actions before these; it is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
	// Notes say what had to be left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// Logs are the last lines that a workload wrote.
type Logs struct {
	Lines []string `json:"lines"`
	// Truncated is true if older lines were left out to keep the answer small.
	Truncated bool `json:"truncated,omitempty"`
}

// Check is one thing that has to be in order for Berth to take work.
type Check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

// Health answers the health endpoints.
type Health struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks,omitempty"`
}

// Problem is an error as the API answers it: application/problem+json (RFC 9457) with members of Berth's own.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Reason is the machine-readable code.
	Reason Reason `json:"reason"`
	// Advice says what to do about it.
	Advice string `json:"advice,omitempty"`
	// Errors are the fields that are wrong, all of them.
	Errors []FieldError `json:"errors,omitempty"`
	// RequestID is what the server's logs call this request.
	RequestID string `json:"requestId,omitempty"`
}
