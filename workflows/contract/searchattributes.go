package contract

import "go.temporal.io/sdk/temporal"

// Search attributes. They are never encrypted: no secret may stand in one. temporal-dev.yaml lists the same.
var (
	AttrWorkload   = temporal.NewSearchAttributeKeyKeyword("BerthWorkload")
	AttrKind       = temporal.NewSearchAttributeKeyKeyword("BerthKind")
	AttrPhase      = temporal.NewSearchAttributeKeyKeyword("BerthPhase")
	AttrReason     = temporal.NewSearchAttributeKeyKeyword("BerthReason")
	AttrHost       = temporal.NewSearchAttributeKeyKeyword("BerthHost")
	AttrVerb       = temporal.NewSearchAttributeKeyKeyword("BerthVerb")
	AttrOutcome    = temporal.NewSearchAttributeKeyKeyword("BerthOutcome")
	AttrHostState  = temporal.NewSearchAttributeKeyKeyword("BerthHostState")
	AttrLabels     = temporal.NewSearchAttributeKeyKeywordList("BerthLabels")
	AttrFence      = temporal.NewSearchAttributeKeyInt64("BerthFence")
	AttrGeneration = temporal.NewSearchAttributeKeyInt64("BerthGeneration")
)

// SearchAttributes returns all of them, for registration and for readiness checks.
func SearchAttributes() []temporal.SearchAttributeKey {
	return []temporal.SearchAttributeKey{
		AttrWorkload, AttrKind, AttrPhase, AttrReason, AttrHost, AttrVerb, AttrOutcome, AttrHostState,
		AttrLabels, AttrFence, AttrGeneration,
	}
}

// LabelTerm is a label as it stands in AttrLabels.
func LabelTerm(key, value string) string { return key + "=" + value }
