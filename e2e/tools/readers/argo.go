package main

import (
	"context"
	"fmt"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// patience is what Argo CD gives a script.
const patience = time.Second

// load reads the keys of the ConfigMap argocd-cm.
func load(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var settings struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	return settings.Data, nil
}

// argo is what Argo CD does: an object that is being deleted is not asked, any other is by the script of its kind.
func argo(checks map[string]string, object *unstructured.Unstructured) (status, message string, err error) {
	if object.GetDeletionTimestamp() != nil {
		return "Progressing", "Pending deletion", nil
	}
	kind := object.GroupVersionKind()
	script, known := checks[fmt.Sprintf("resource.customizations.health.%s_%s", kind.Group, kind.Kind)]
	if !known {
		return "", "", fmt.Errorf("no health check for %s", kind)
	}
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	// The libraries that are open in Argo CD, unless somebody asks for more.
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath},
	} {
		if err := vm.CallByParam(lua.P{Fn: vm.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return "", "", err
		}
	}
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	vm.SetContext(limit)
	vm.SetGlobal("obj", table(vm, object.Object))
	if err := vm.DoString(script); err != nil {
		return "", "", err
	}
	answer, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script of %s answers %v", kind.Kind, vm.Get(-1))
	}
	status = lua.LVAsString(answer.RawGetString("status"))
	switch status {
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return status, lua.LVAsString(answer.RawGetString("message")), nil
	}
	return "", "", fmt.Errorf("Argo CD knows no status %q", status)
}

// table is an object as a script sees it.
func table(vm *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		made := vm.NewTable()
		for key, field := range value {
			made.RawSetString(key, table(vm, field))
		}
		return made
	case []any:
		made := vm.NewTable()
		for _, item := range value {
			made.Append(table(vm, item))
		}
		return made
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}
