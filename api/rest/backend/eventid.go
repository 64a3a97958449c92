package backend

import (
	"fmt"
	"regexp"
	"strconv"

	v1 "github.com/berth-dev/berth/api/v1"
)

// position is a place in the histories of a workload's runs: which run, which of its events, and which of the changes that
// this event tells of, from 1. A position is the id of an event of ours; zero stands before all of a run.
type position struct {
	run   string
	event int64
	part  int
}

var positionForm = regexp.MustCompile(`^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,9})\.([0-9]{1,3})$`)

func (p position) String() string { return fmt.Sprintf("%s.%d.%d", p.run, p.event, p.part) }

// before reports whether p comes before q in the same run.
func (p position) before(q position) bool {
	return p.event < q.event || p.event == q.event && p.part < q.part
}

// parsePosition reads what String wrote; field says where it stood.
func parsePosition(field, text string) (position, error) {
	m := positionForm.FindStringSubmatch(text)
	if m == nil {
		return position{}, v1.FieldErrors{{Path: v1.Path(field), Reason: v1.ReasonInvalid, Message: "is not the id of an event"}}
	}
	event, _ := strconv.ParseInt(m[2], 10, 64) // nine digits
	part, _ := strconv.Atoi(m[3])
	return position{run: m[1], event: event, part: part}, nil
}
