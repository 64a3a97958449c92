// Package link watches network interfaces of the host: libvirt tells nobody that a guest's card has lost its bridge.
package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Cards is how the names of guests' cards begin on the host's side.
const Cards = "vnet"

// ErrBroken says that the kernel's news ended though nobody wanted them to.
var ErrBroken = errors.New("the news of network interfaces broke off")

// Watch calls changed whenever an interface changes whose name begins with a prefix, until ctx ends, or it can't go on.
func Watch(ctx context.Context, prefix string, changed func()) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("watch the network interfaces: %w", err)
	}
	news := os.NewFile(uintptr(fd), "netlink")
	defer func() { _ = news.Close() }() // nothing is written to it
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		return fmt.Errorf("watch the network interfaces: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = news.Close() })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := news.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, unix.ENOBUFS): // more happened than was read
			changed()
		case err != nil:
			return errors.Join(ErrBroken, err)
		case about(buffer[:n], prefix):
			changed()
		}
	}
}

// about reports whether one of the kernel's messages is about an interface with such a name.
func about(data []byte, prefix string) bool {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return false
	}
	for _, m := range messages {
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			continue
		}
		for _, a := range attributes {
			if a.Attr.Type == unix.IFLA_IFNAME && strings.HasPrefix(string(bytes.TrimRight(a.Value, "\x00")), prefix) {
				return true
			}
		}
	}
	return false
}

// CutOff reports whether an interface exists and belongs to no bridge.
func CutOff(name string) bool {
	dir := filepath.Join("/sys/class/net", filepath.Base(name))
	if _, err := os.Lstat(dir); err != nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, "master"))
	return errors.Is(err, os.ErrNotExist)
}
