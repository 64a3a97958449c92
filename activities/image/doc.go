// Package image keeps the disk images of a host: each is fetched once, verified, inspected, and stored by its digest.
//
// A fetch belongs to the cache, not to who asked for it first: all who want the same image wait for one fetch, which ends
// when the last of them leaves. What it has got by then stays, and the next fetch goes on from that byte, also after the
// process was killed. Images appear in the cache whole, verified and read-only, or not at all.
package image
