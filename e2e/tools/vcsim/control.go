package main

import (
	"context"
	"log"
	"maps"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// control decides what each call meets. Its zero maps mean: nothing out of the ordinary.
type control struct {
	service *simulator.Service

	mu                 sync.Mutex
	username, password string
	delays             map[string]time.Duration
	faults             map[string]*fault
	status, statusLeft int
	calls              map[string]int
	hidden             map[string]string // the property of an object, by its name, that may not be read
	logins             int
	lastLogin          time.Time
	released           chan struct{} // closed by reset: whoever sleeps wakes up
}

type fault struct {
	kind reflect.Type
	left int // 0: until reset
}

// ours marks calls that the control API makes itself: they are not counted and meet no fault.
type ours struct{}

func newControl(s *simulator.Service, username, password string) *control {
	c := &control{service: s, username: username, password: password, released: make(chan struct{})}
	c.reset()
	s.Context.Map.Handler = c.call
	s.Context.Map.SessionManager().ValidLogin = c.login
	guard(s, func(object string) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.hidden[object]
	})
	return c
}

// reset forgets delays, faults, statuses, missing rights and counts. Sessions, their lifetime and the password stay.
func (c *control) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays, c.faults, c.calls = map[string]time.Duration{}, map[string]*fault{}, map[string]int{}
	c.hidden = map[string]string{}
	c.status, c.statusLeft, c.logins = 0, 0, 0
	close(c.released)
	c.released = make(chan struct{})
}

// call runs before each SOAP method: it counts it, delays it, and may answer a fault in its place.
func (c *control) call(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Value(ours{}) != nil {
		return nil, nil
	}
	c.mu.Lock()
	c.calls[method.Name]++
	delay, released := c.delays[method.Name], c.released
	answer := c.due(method.Name)
	c.mu.Unlock()

	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-released:
		}
	}
	if answer == nil {
		return nil, nil
	}
	return nil, reflect.New(answer).Interface().(types.BaseMethodFault)
}

func (c *control) due(method string) reflect.Type {
	f := c.faults[method]
	if f == nil {
		return nil
	}
	if f.left > 0 {
		if f.left--; f.left == 0 {
			delete(c.faults, method)
		}
	}
	return f.kind
}

func (c *control) login(request *types.Login) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if request.UserName != c.username || request.Password != c.password {
		return false
	}
	c.logins++
	c.lastLogin = time.Now()
	return true
}

// gate answers HTTP statuses in place of the SDK where they were asked for.
func (c *control) gate(sdk http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		status := 0
		if c.statusLeft > 0 {
			c.statusLeft--
			status = c.status
		}
		c.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		sdk.ServeHTTP(w, r)
	})
}

// sessions are the ones that are logged in now.
func (c *control) sessions(ctx context.Context) (*vim25.Client, mo.SessionManager, error) {
	var manager mo.SessionManager
	client, err := vim25.NewClient(ctx, c.service)
	if err != nil {
		return nil, manager, err
	}
	err = property.DefaultCollector(client).RetrieveOne(ctx, *client.ServiceContent.SessionManager, []string{"sessionList"}, &manager)
	return client, manager, err
}

type counts struct {
	Sessions  int            `json:"sessions"`
	Logins    int            `json:"logins"`    // that were let in
	Refused   int            `json:"refused"`   // Login calls that were not
	LastLogin float64        `json:"lastLogin"` // when one was last let in, in seconds since 1970; 0 for never
	Calls     map[string]int `json:"calls"`
}

func (c *control) counts(ctx context.Context) (counts, error) {
	_, manager, err := c.sessions(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	last := 0.0
	if !c.lastLogin.IsZero() {
		last = float64(c.lastLogin.UnixMicro()) / 1e6
	}
	return counts{
		Sessions:  len(manager.SessionList),
		Logins:    c.logins,
		Refused:   c.calls["Login"] - c.logins,
		LastLogin: last,
		Calls:     maps.Clone(c.calls),
	}, err
}

func (c *control) killSessions(ctx context.Context) error {
	client, manager, err := c.sessions(ctx)
	if err != nil || len(manager.SessionList) == 0 {
		return err
	}
	request := types.TerminateSession{This: *client.ServiceContent.SessionManager}
	for _, session := range manager.SessionList {
		request.SessionId = append(request.SessionId, session.Key)
	}
	if _, err = methods.TerminateSession(ctx, client, &request); err == nil {
		log.Printf("vcsim: killed %d sessions", len(request.SessionId))
	}
	return err
}

// sessionLifetime holds for the logins that follow; an idle session ends after one to two times this.
func (c *control) sessionLifetime(ctx context.Context, lifetime time.Duration) error {
	client, err := vim25.NewClient(ctx, c.service)
	if err != nil {
		return err
	}
	_, err = methods.UpdateOptions(ctx, client, &types.UpdateOptions{
		This: *client.ServiceContent.Setting,
		ChangedValue: []types.BaseOptionValue{&types.OptionValue{
			Key: "config.vmacore.soap.sessionTimeout", Value: lifetime.String(),
		}},
	})
	return err
}
