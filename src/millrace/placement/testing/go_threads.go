// go_threads COUNT: prints the CPUs that the runtime counted; then COUNT goroutines, each with a thread of its own, print
// the mask that it began with, work for a while under the runtime's preemption by signals, for longer while they have more
// than one CPU, and print the mask again.
package main

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// So that main keeps the thread that the process began with.
func init() { runtime.LockOSThread() }

func ownMask() string {
	var words [128]uint64
	size, _, _ := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(words),
		uintptr(unsafe.Pointer(&words[0])))
	text := ""
	for i := 0; i < int(size)/8; i++ {
		for word := words[i]; word != 0; word &= word - 1 {
			if text != "" {
				text += ","
			}
			text += strconv.Itoa(64*i + bits.TrailingZeros64(word))
		}
	}
	return text
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	fmt.Printf("cpus %d\n", runtime.NumCPU())
	first, later := make([]string, count), make([]string, count)
	var begun, done sync.WaitGroup
	begun.Add(count)
	done.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			runtime.LockOSThread()
			first[i] = ownMask()
			begun.Done()
			begun.Wait()
			start := time.Now()
			for time.Since(start) < 300*time.Millisecond ||
				(strings.Contains(ownMask(), ",") && time.Since(start) < 20*time.Second) {
			}
			later[i] = ownMask()
			done.Done()
		}()
	}
	done.Wait()
	for i := 0; i < count; i++ {
		fmt.Printf("first %d %s\nlater %d %s\n", i, first[i], i, later[i])
	}
	os.Exit(5)
}
