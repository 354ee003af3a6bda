package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// collector is the simulator's property collector, with rights that are missing on single properties. The simulator makes
// a fresh one of this type for each session, so what is hidden is not its own: see hidden.
type collector struct {
	simulator.PropertyCollector
}

// hidden names properties that nobody may read: by the object's name in the inventory, such as DC0_C1, the property's.
var hidden func(object string) (property string)

// guard puts collectors of this kind in place of the simulator's.
func guard(s *simulator.Service, hides func(object string) string) {
	hidden = hides
	content := s.Context.Map.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance).Content
	guarded := new(collector)
	guarded.Self = content.PropertyCollector
	s.Context.Map.Put(guarded)
}

func (c *collector) RetrievePropertiesEx(ctx *simulator.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	answer := c.PropertyCollector.RetrievePropertiesEx(ctx, r)
	if body, ok := answer.(*methods.RetrievePropertiesExBody); ok && body.Res != nil && body.Res.Returnval != nil {
		for i := range body.Res.Returnval.Objects {
			hide(&body.Res.Returnval.Objects[i])
		}
	}
	return answer
}

// hide turns a property into what a vCenter answers for it without the right: an entry of missingSet.
func hide(o *types.ObjectContent) {
	name := ""
	for _, p := range o.PropSet {
		if text, ok := p.Val.(string); ok && p.Name == "name" {
			name = text
		}
	}
	property := hidden(name)
	kept := o.PropSet[:0]
	for _, p := range o.PropSet {
		if p.Name != property {
			kept = append(kept, p)
			continue
		}
		fault := &types.NoPermission{Object: &o.Obj, PrivilegeId: "System.Read"}
		o.MissingSet = append(o.MissingSet, types.MissingProperty{Path: p.Name, Fault: types.LocalizedMethodFault{Fault: fault}})
	}
	o.PropSet = kept
}
