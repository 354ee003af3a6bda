package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// api is the control port. Bodies are JSON; unknown fields are refused, so that a typo in a test is not a fault that never comes.
//
//	GET  /counts            {"sessions":1,"logins":1,"refused":0,"lastLogin":1.5e9,"calls":{"Login":1}}
//	POST /delay             {"method":"Login","milliseconds":500}; 0 takes it back
//	POST /status            {"code":503,"count":1}: the HTTP status of the next answers
//	POST /fault             {"method":"Login","fault":"NoPermission","count":1}; count 0: until reset
//	POST /hide              {"object":"DC0_C1","property":"network"}: nobody may read it, until reset; one for each object
//	POST /session-lifetime  {"seconds":2}: of the logins that follow
//	POST /credentials       {"username":"u","password":"p"}
//	POST /about             {"version":"6.7.0","apiVersion":"6.7"}
//	POST /kill-sessions
//	POST /reset             no delays, faults, statuses, nothing hidden; counts at 0
func (c *control) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, r *http.Request) {
		counts, err := c.counts(context.WithValue(r.Context(), ours{}, true))
		answer(w, counts, err)
	})
	post(mux, "/delay", func(_ context.Context, b struct {
		Method       string
		Milliseconds int
	}) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.delays[b.Method] = time.Duration(b.Milliseconds) * time.Millisecond
		return nil
	})
	post(mux, "/status", func(_ context.Context, b struct{ Code, Count int }) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.status, c.statusLeft = b.Code, b.Count
		return nil
	})
	post(mux, "/fault", func(_ context.Context, b struct {
		Method, Fault string
		Count         int
	}) error {
		kind, known := types.TypeFunc()(b.Fault)
		if !known {
			return fmt.Errorf("no fault type %q in vim25", b.Fault)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults[b.Method] = &fault{kind: kind, left: b.Count}
		return nil
	})
	post(mux, "/hide", func(_ context.Context, b struct{ Object, Property string }) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hidden[b.Object] = b.Property
		return nil
	})
	post(mux, "/session-lifetime", func(ctx context.Context, b struct{ Seconds int }) error {
		return c.sessionLifetime(ctx, time.Duration(b.Seconds)*time.Second)
	})
	post(mux, "/credentials", func(_ context.Context, b struct{ Username, Password string }) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.username, c.password = b.Username, b.Password
		return nil
	})
	post(mux, "/about", func(_ context.Context, b struct{ Version, APIVersion string }) error {
		about := &c.service.Context.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About
		about.Version, about.ApiVersion = b.Version, b.APIVersion
		return nil
	})
	post(mux, "/kill-sessions", func(ctx context.Context, _ struct{}) error { return c.killSessions(ctx) })
	post(mux, "/reset", func(context.Context, struct{}) error { c.reset(); return nil })
	return mux
}

func post[B any](mux *http.ServeMux, path string, act func(context.Context, B) error) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var body B
		if r.ContentLength != 0 {
			decoder := json.NewDecoder(r.Body)
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		answer(w, struct{}{}, act(context.WithValue(r.Context(), ours{}, true), body))
	})
}

func answer(w http.ResponseWriter, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
