package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	types = []Type{TypeHeader, TypeInvoke, TypeOK, TypeFail, TypeInfo, TypeLost, TypeCancel, TypeCommand, TypeReply,
		TypeFault, TypeNode, TypeClock, TypeStall, TypeNote, TypeEnd}
	ops     = []Op{OpAcquire, OpExtend, OpRelease, OpCheck, OpRead, OpWrite}
	phases  = []Phase{PhaseBegin, PhaseEnd, PhaseInstant}
	effects = []Effect{"", EffectSet, EffectExtend, EffectDelete, EffectRead}
)

// Validate checks one event by itself.
func Validate(e *Event) error {
	if e.Type == "" {
		return fmt.Errorf(`the field "type" is missing; it must be one of %s`, oneOf(types))
	}
	if !slices.Contains(types, e.Type) {
		return fmt.Errorf("unknown type %q; it must be one of %s", e.Type, oneOf(types))
	}
	if e.Time < 0 {
		return fmt.Errorf("the time is %d; times are nanoseconds since the run began, 0 or more", e.Time)
	}
	if e.Time > MaxTime {
		return fmt.Errorf("the time is %d; times are nanoseconds since the run began, not since 1970: at most %d", e.Time,
			int64(MaxTime))
	}
	if e.Process == "" {
		return errors.New(`the field "process" is missing; it names who the event happened to: c1, n3, c1>n3 or harness, say`)
	}
	return validateParts(e)
}

// validateParts checks that an event has its type's part.
func validateParts(e *Event) error {
	switch e.Type {
	case TypeHeader:
		return validateHeader(e)
	case TypeInvoke, TypeOK, TypeFail, TypeInfo:
		return validateOperation(e)
	case TypeLost:
		if e.Lease < 1 {
			return errors.New(`a lost event names no lease; "lease" must be the id of the acquire that began it, from 1`)
		}
	case TypeCommand, TypeReply:
		return validateCommand(e)
	case TypeFault:
		return validateFault(e)
	case TypeNode:
		return requirePart(e, e.Node != nil, `"node"`, "what the look into the node showed")
	case TypeClock:
		return validateClock(e)
	case TypeStall:
		if e.Late <= 0 {
			return fmt.Errorf(`a stall of %d ns is none; "late" must say for how many nanoseconds the process was held up`,
				e.Late)
		}
	}
	return nil
}

func requirePart(e *Event, ok bool, field, meaning string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the event, of type %s, has no %s; it must hold %s", e.Type, field, meaning)
}

func validateHeader(e *Event) error {
	if e.Header == nil {
		return requirePart(e, false, `"header"`, "what was run: the version, the scenario, the lock, ...")
	}
	if v := e.Header.Version; v != Version {
		return fmt.Errorf("the history's version is %d; this build reads version %d: "+
			"read it with the release that wrote it, or run the scenario again", v, Version)
	}
	return nil
}

func validateOperation(e *Event) error {
	if e.Op == "" {
		return requirePart(e, false, `"op"`, "the operation: "+oneOf(ops))
	}
	if !slices.Contains(ops, e.Op) {
		return fmt.Errorf("unknown op %q of type %s; it must be one of %s", e.Op, e.Type, oneOf(ops))
	}
	if e.ID < 1 {
		return fmt.Errorf("the id of an operation is %d; ids count from 1 within a process and join an outcome to its "+
			"invoke", e.ID)
	}
	if e.Validity < 0 {
		return fmt.Errorf("the validity is %d ns; it must be 0 or more: 0 if nothing was left at the grant", e.Validity)
	}
	return nil
}

func validateCommand(e *Event) error {
	if e.Command == nil {
		return requirePart(e, false, `"command"`, "the Redis command that was seen on the link")
	}
	if !slices.Contains(effects, e.Command.Effect) {
		return fmt.Errorf("unknown effect %q; it must be one of %s, or left out", e.Command.Effect, oneOf(effects[1:]))
	}
	return nil
}

func validateFault(e *Event) error {
	if e.Fault == nil {
		return requirePart(e, false, `"fault"`, "the fault that began or ended")
	}
	if !slices.Contains(phases, e.Fault.Phase) {
		return fmt.Errorf("unknown phase %q of a fault; it must be one of %s", e.Fault.Phase, oneOf(phases))
	}
	if e.Fault.Class == "" && completeOldFault != nil {
		completeOldFault(e.Fault)
	}
	if e.Fault.Class == "" {
		return fmt.Errorf("the fault %s has no class, and no release has recorded one of that name; \"class\" must be "+
			"one of %s",
			e.Fault.Kind, oneOf(Classes))
	}
	if !slices.Contains(Classes, e.Fault.Class) {
		return fmt.Errorf("unknown class %q of the fault %s; it must be one of %s", e.Fault.Class, e.Fault.Kind,
			oneOf(Classes))
	}
	if since := e.Fault.Since; since < 0 || since > e.Time {
		return fmt.Errorf(
			"a fault that was seen at %d may have been in effect since %d; it must be from 0 up to the event's time",
			e.Time, since)
	}
	return nil
}

func validateClock(e *Event) error {
	if e.Clock == nil {
		return requirePart(e, false, `"clock"`, "the clock's reading and rate from then on")
	}
	if e.Clock.Rate <= 0 {
		return fmt.Errorf("a clock's rate is %g; it must be more than 0: 1 is the true rate", e.Clock.Rate)
	}
	return nil
}

func oneOf[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}
