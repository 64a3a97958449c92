package contract

// Workflow types.
const (
	WorkflowWorkload = "Workload"
	WorkflowDeploy   = "Deploy"
	WorkflowStop     = "Stop"
	WorkflowRemove   = "Remove"
	WorkflowHost     = "Host"
	WorkflowLease    = "Lease"
	WorkflowQueue    = "Queue"
)

// Updates and signals of Workload. The verbs exist as both; signals take no or plain JSON arguments.
const (
	UpdateApply = "apply"
	// The verbs' updates and signals are named as the verbs themselves: start, stop, restart, retry, remove.

	SignalObserve  = "observe"
	SignalLate     = "late" // from a host: a step came too late, and was refused
	SignalHostLost = "host-lost"
	SignalHostBack = "host-back"
	SignalDrain    = "host-drain" // from Host: leave it, or stay after all
	SignalWake     = "wake"

	QueryWorkloadFull = "workload"
	// QueryActions returns the last actions that have ended, newest first, as []v1.Action.
	QueryActions = "actions"
)

// Updates and signals of Host.
const (
	UpdateHello   = "hello"
	UpdateReserve = "reserve"
	UpdateBind    = "bind"
	// UpdateChangeHost is an admin's: cordon, uncordon, drain, switch runtimes off and on.
	UpdateChangeHost = "change"
	// UpdateEvict turns the reservation of a workload into a debt, on a host that is away.
	UpdateEvict  = "evict"
	UpdateForget = "forget"
	UpdateAdopt  = "adopt"

	SignalSettle        = "settle"
	SignalRelease       = "release"
	SignalLeaseLive     = "lease-live"
	SignalLeaseEnded    = "lease-ended"
	SignalCapability    = "capability"
	SignalDebtsPaid     = "debts-paid"
	SignalDrainStanding = "drain-standing" // from Workload: how far it has got in leaving the host
	SignalLeaseRenew    = "renew"          // to Lease, from Host: hold lease number N from now on
	QueryHostFull       = "host"
	QueryHostWould      = "would"
)

// SignalGiveUp is from Workload to a cancelled action whose host is lost: nothing that is asked of it there is waited for.
const SignalGiveUp = "give-up"

// Updates, signals and queries of Queue.
const (
	UpdateAhead   = "ahead"
	SignalEnqueue = "enqueue"
	SignalLeave   = "leave"
	SignalRoom    = "room"
	QueryQueue    = "queue"
)

// Memo fields.
const (
	MemoStatus = "status" // v1.Status of a workload, v1.Host of a host, v1.Action of an action
	MemoMeta   = "meta"   // WorkloadMeta
)

// Activities on the control plane's queue.
const (
	ActivityPlace      = "Place"
	ActivityBind       = "Bind"
	ActivityEvict      = "Evict"
	ActivityGrantLease = "GrantLease"
)

// Activities on a host's queue that belong to no kind of workload.
const (
	ActivityHoldLease = "HoldLease"
)
