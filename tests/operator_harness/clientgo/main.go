// The smallest controller on client-go: the same loop as bare_loop.py, on an informer and a work queue.
//
// Watches LLMServices and takes the finalizer off those that are deleted. What it costs per write and in
// memory is what a controller in Go would start from.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	finalizer = "serving.modelsphere.dev/teardown"
	// As many calls at the same time as the Python client makes.
	workers = 40
)

var services = schema.GroupVersionResource{
	Group: "serving.modelsphere.dev", Version: "v1alpha1", Resource: "llmservices",
}

type loop struct {
	client dynamic.Interface
	store  cache.Store
	queue  workqueue.TypedRateLimitingInterface[string]
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: clientgo-loop KUBECONFIG"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fail(err)
	}
	// No limit of the client's own: the server sets the pace, as it does for the Python client.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		fail(err)
	}
	run(context.Background(), client)
}

func run(ctx context.Context, client dynamic.Interface) {
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(services).Informer()
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	l := &loop{client, informer.GetStore(), workqueue.NewTypedRateLimitingQueue(limiter)}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { l.enqueue(obj) },
		UpdateFunc: func(_, obj any) { l.enqueue(obj) },
	}); err != nil {
		fail(err)
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	informer.Run(ctx.Done())
	l.queue.ShutDown()
	group.Wait()
}

// enqueue asks for a pass where there is something to let go of.
func (l *loop) enqueue(obj any) {
	service, ok := obj.(*unstructured.Unstructured)
	if !ok || service.GetDeletionTimestamp() == nil {
		return
	}
	if slices.Contains(service.GetFinalizers(), finalizer) {
		l.queue.Add(service.GetNamespace() + "/" + service.GetName())
	}
}

func (l *loop) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	if err := l.letGo(ctx, key); err != nil {
		fmt.Fprintln(os.Stderr, key, err)
		l.queue.AddRateLimited(key)
		return true
	}
	l.queue.Forget(key)
	return true
}

func (l *loop) letGo(ctx context.Context, key string) error {
	obj, exists, err := l.store.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	service := obj.(*unstructured.Unstructured)
	index := slices.Index(service.GetFinalizers(), finalizer)
	if index < 0 {
		return nil
	}
	path := fmt.Sprintf("/metadata/finalizers/%d", index)
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": path, "value": finalizer},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return err
	}
	_, err = l.client.Resource(services).Namespace(service.GetNamespace()).Patch(
		ctx, service.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
